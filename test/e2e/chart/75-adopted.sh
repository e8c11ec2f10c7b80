# A fleet of another operator is taken over, with the rights that the chart gives.
. "$root/test/e2e/more/37-adopted.sh"
