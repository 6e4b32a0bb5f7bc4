package simd

import "unsafe"

// goTileOf returns the Go micro-kernel for the given number of rows.
func goTileOf[T Float](rows int) tileFunc[T] {
	return func(k int, a *T, rs, ks int, b, c *T, ldc, cols int, alpha, beta T, _ uintptr, _, _ int) {
		as := unsafe.Slice(a, (rows-1)*rs+(k-1)*ks+1)
		bs := unsafe.Slice(b, (cols+goTile-1)/goTile*goTile*k)
		cs := unsafe.Slice(c, (rows-1)*ldc+cols)
		for j0 := 0; j0 < cols; j0 += goTile {
			mulGoTile(cs[j0:], ldc, rows, min(goTile, cols-j0), alpha, as, rs, ks, bs[j0*k:][:goTile*k], beta)
		}
	}
}

func mulGoTile[T Float](c []T, ldc, rows, cols int, alpha T, a []T, rs, ks int, b []T, beta T) {
	var acc [goTile][goTile]T
	if rows == goTile {
		sumFullTile(&acc, a, rs, ks, b)
	} else {
		sumTile(&acc, rows, a, rs, ks, b)
	}
	for i := range rows {
		row := c[i*ldc:][:cols]
		for j := range row {
			if beta == 0 {
				row[j] = alpha * acc[i][j]
			} else {
				row[j] = alpha*acc[i][j] + beta*row[j]
			}
		}
	}
}

func sumTile[T Float](acc *[goTile][goTile]T, rows int, a []T, rs, ks int, b []T) {
	for p := 0; p*goTile < len(b); p++ {
		bp := b[p*goTile:][:goTile]
		for i := range rows {
			v := a[i*rs+p*ks]
			for j, w := range bp {
				acc[i][j] += v * w
			}
		}
	}
}

// sumFullTile is sumTile for goTile rows, with the sums in registers.
func sumFullTile[T Float](acc *[goTile][goTile]T, a []T, rs, ks int, b []T) {
	var c00, c01, c02, c03, c10, c11, c12, c13 T
	var c20, c21, c22, c23, c30, c31, c32, c33 T
	for len(b) >= goTile {
		b0, b1, b2, b3 := b[0], b[1], b[2], b[3]
		a0, a1, a2, a3 := a[0], a[rs], a[2*rs], a[3*rs]
		c00, c01, c02, c03 = c00+a0*b0, c01+a0*b1, c02+a0*b2, c03+a0*b3
		c10, c11, c12, c13 = c10+a1*b0, c11+a1*b1, c12+a1*b2, c13+a1*b3
		c20, c21, c22, c23 = c20+a2*b0, c21+a2*b1, c22+a2*b2, c23+a2*b3
		c30, c31, c32, c33 = c30+a3*b0, c31+a3*b1, c32+a3*b2, c33+a3*b3
		if b = b[goTile:]; len(b) > 0 {
			a = a[ks:]
		}
	}
	*acc = [goTile][goTile]T{
		{c00, c01, c02, c03}, {c10, c11, c12, c13},
		{c20, c21, c22, c23}, {c30, c31, c32, c33},
	}
}
