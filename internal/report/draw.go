package report

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"io"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/encoding/charmap"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
)

// Lengths of the layout, in points.
const (
	margin    = vg.Length(8)
	gap       = vg.Length(12) // between panels
	thumb     = vg.Length(24) // the sample of a curve in the legend
	rowSkip   = vg.Length(13)
	noteSkip  = vg.Length(11)
	titleSkip = titleSize + 4
)

// dotsPerInch is fine enough to print the figure at its own size.
const dotsPerInch = 200

// Write writes the figure as "png", "svg" or "pdf".
func (f *Figure) Write(w io.Writer, format string) error {
	var contents []byte
	var err error
	switch format {
	case "png":
		contents, err = f.PNG()
	case "svg":
		contents, err = f.SVG()
	case "pdf":
		contents, err = f.PDF()
	default:
		return fmt.Errorf("report: cannot write a figure as %q; the formats are png, svg and pdf", format)
	}
	if err != nil {
		return err
	}
	_, err = w.Write(contents)
	return err
}

// PNG returns the figure as a bitmap of 200 pixels per inch.
func (f *Figure) PNG() ([]byte, error) {
	l := f.layout()
	c := vgimg.NewWith(vgimg.UseWH(l.width, l.height), vgimg.UseDPI(dotsPerInch), vgimg.UseBackgroundColor(color.White))
	return l.bytes(c, vgimg.PngCanvas{Canvas: c})
}

// SVG returns the figure as a standalone document.
func (f *Figure) SVG() ([]byte, error) {
	raw, err := f.layout().element()
	if err != nil {
		return nil, err
	}
	title := "<title>" + html.EscapeString(clip(f.Title, longestText)) + "</title>\n"
	start, rest := cutStart(raw)
	return bytes.Join([][]byte{[]byte(`<?xml version="1.0" encoding="UTF-8"?>`), start,
		[]byte(title + string(rest))}, []byte("\n")), nil
}

var pdfDate = regexp.MustCompile(`/(CreationDate|ModDate) \(D:[^)]*\)`)

// PDF returns the figure as a page of its own size, with embedded fonts. Its date
// is fixed, so that the same figure gives the same bytes.
func (f *Figure) PDF() ([]byte, error) {
	l := f.layout()
	c := pdfCanvas{vgpdf.New(l.width, l.height)}
	raw, err := l.bytes(c, c.Canvas)
	if err != nil {
		return nil, err
	}
	return pdfDate.ReplaceAllFunc(raw, func(date []byte) []byte { // of the same length: the file refers to byte offsets
		key, _, _ := bytes.Cut(date, []byte("("))
		return append(key, []byte("(D:20000101000000"+strings.Repeat(" ", len(date)-len(key)-18)+")")...)
	}), nil
}

// pdfCanvas writes text in the encoding of the embedded fonts, and colours with
// straight alpha, as PDF requires.
type pdfCanvas struct{ *vgpdf.Canvas }

func (c pdfCanvas) SetColor(clr color.Color) {
	c.Canvas.SetColor(straight(color.NRGBAModel.Convert(clr).(color.NRGBA)))
}

// straight is a colour whose RGBA is not premultiplied by alpha.
type straight color.NRGBA

func (s straight) RGBA() (r, g, b, a uint32) {
	return uint32(s.R) * 0x101, uint32(s.G) * 0x101, uint32(s.B) * 0x101, uint32(s.A) * 0x101
}

func (c pdfCanvas) FillString(f font.Face, at vg.Point, s string) {
	var encoded []byte
	for _, r := range s {
		b, ok := charmap.Windows1252.EncodeRune(r)
		if !ok {
			b = '?'
		}
		encoded = append(encoded, b)
	}
	c.Canvas.FillString(f, at, string(encoded))
}

// layout is a figure with the positions of its parts.
type layout struct {
	figure        *Figure
	width, height vg.Length
	top, bottom   vg.Length // reserved for the title, and for legend and note
	heading       vg.Length // reserved above each panel for its title
	plots         [][]*plot.Plot

	legend       []string
	styles       map[string]style
	lines        map[string]bool // names of curves
	perRow, rows int             // of the legend
	title, note  []string        // wrapped lines
	spots        []spot          // filled in by drawing
}

func (f *Figure) layout() *layout {
	l := &layout{figure: f}
	l.legend, l.styles, l.lines = f.names()
	columns := f.Columns
	if columns <= 0 {
		columns = max(1, len(f.Panels))
	}
	panelWidth, panelHeight := f.panelSize()
	for at := 0; at < len(f.Panels); at += columns {
		row := make([]*plot.Plot, columns)
		for i, p := range f.Panels[at:min(at+columns, len(f.Panels))] {
			if !p.blank {
				row[i] = p.plot(l.styles, panelWidth, &l.spots)
				row[i].X.Tick.Marker = markedTicks{row[i].X.Tick.Marker, f.Decimal}
				row[i].Y.Tick.Marker = markedTicks{row[i].Y.Tick.Marker, f.Decimal}
			}
		}
		l.plots = append(l.plots, row)
	}
	l.width = 2*margin + vg.Length(columns)*panelWidth + vg.Length(columns-1)*gap
	l.note = wrap(f.Note, textStyle(tickSize, ink), l.width-2*margin)
	l.arrangeLegend()
	l.title = wrap(f.Title, textStyle(titleSize, black), l.width-2*margin)
	l.top = margin + titleSkip*vg.Length(len(l.title)) + 3
	l.bottom = margin + rowSkip*vg.Length(l.rows) + noteSkip*vg.Length(len(l.note)) + 10
	if slices.ContainsFunc(f.Panels, func(p Panel) bool { return p.Title != "" }) {
		l.heading = labelSize + 7
	}
	rows := vg.Length(max(1, len(l.plots)))
	l.height = l.top + l.bottom + rows*(panelHeight+l.heading) + (rows-1)*gap
	return l
}

func (f *Figure) panelSize() (width, height vg.Length) {
	width, height = f.Width, f.Height
	single := len(f.Panels) <= 1
	if width == 0 && single {
		width = 396
	} else if width == 0 {
		width = 170
	}
	if height == 0 && single {
		height = width * 2 / 3
	} else if height == 0 {
		height = 145
	}
	return width, height
}

// entryWidth is the width of one legend entry.
func (l *layout) entryWidth() (width vg.Length) {
	style := textStyle(labelSize, black)
	for _, name := range l.legend {
		width = max(width, style.Width(clip(name, longestLabel)))
	}
	return width + thumb + 18
}

func (l *layout) arrangeLegend() {
	if len(l.legend) == 0 {
		return
	}
	l.perRow = min(len(l.legend), max(1, int((l.width-2*margin)/l.entryWidth())))
	l.rows = (len(l.legend) + l.perRow - 1) / l.perRow
	l.perRow = (len(l.legend) + l.rows - 1) / l.rows // even rows
	l.width = max(l.width, 2*margin+l.entryWidth())
}

// The most characters to draw of a name (in the legend, on an axis, beside a
// mark), and of a title or note. Without them, a megabyte of name would make a
// figure a mile wide.
const (
	longestLabel = 80
	longestText  = 4000
)

// clip cuts text after this many characters.
func clip(s string, characters int) string {
	count := 0
	for at := range s {
		if count++; count > characters {
			return s[:at] + "…"
		}
	}
	return s
}

// wrap breaks text into lines that fit the width.
func wrap(s string, style text.Style, width vg.Length) (lines []string) {
	for _, word := range strings.Fields(clip(s, longestText)) {
		word = clip(word, longestLabel)
		last := len(lines) - 1
		if last >= 0 && style.Width(lines[last]+" "+word) <= width {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// shorten cuts text to the width.
func shorten(s string, style text.Style, width vg.Length) string {
	short := []rune(clip(s, longestLabel))
	for len(short) > 0 && style.Width(string(short)) > width {
		short = short[:len(short)-1]
	}
	if len(short) < len([]rune(s)) && len(short) > 0 {
		short[len(short)-1] = '…'
	}
	return string(short)
}

// bytes draws and encodes the figure. The drawing library panics when it fails,
// say to write a font to a temporary folder; bytes returns an error instead.
func (l *layout) bytes(c vg.CanvasSizer, out io.WriterTo) (contents []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("report: cannot draw the figure %q: %v", l.figure.Title, r)
		}
	}()
	l.draw(draw.New(c))
	var b bytes.Buffer
	_, err = out.WriteTo(&b)
	return b.Bytes(), err
}

func (l *layout) draw(c draw.Canvas) {
	heading := textStyle(titleSize, black)
	heading.XAlign, heading.YAlign = text.XCenter, text.YTop
	for i, line := range l.title {
		c.FillText(heading, vg.Point{X: c.Center().X, Y: c.Max.Y - margin - titleSkip*vg.Length(i)}, line)
	}
	l.drawPanels(draw.Crop(c, margin, -margin, l.bottom, -l.top))
	l.drawLegend(c)
	style := textStyle(tickSize, ink)
	for i, line := range l.note {
		up := noteSkip*vg.Length(len(l.note)-1-i) + margin
		c.FillText(style, vg.Point{X: c.Min.X + margin, Y: c.Min.Y + up}, line)
	}
}

func (l *layout) drawPanels(c draw.Canvas) {
	if len(l.plots) == 0 {
		return
	}
	columns := len(l.plots[0])
	tiles := draw.Tiles{Rows: len(l.plots), Cols: columns, PadX: gap, PadY: gap + l.heading, PadTop: l.heading}
	heading := textStyle(labelSize, black)
	heading.XAlign = text.XCenter
	for r, row := range plot.Align(l.plots, tiles, c) {
		for i, place := range row {
			p := l.plots[r][i]
			if p == nil {
				continue
			}
			p.Draw(place)
			axes := p.DataCanvas(place)
			title := shorten(l.figure.Panels[r*columns+i].Title, heading, axes.Max.X-axes.Min.X)
			c.FillText(heading, vg.Point{X: axes.Center().X, Y: axes.Max.Y + 6}, title)
		}
	}
}

func (l *layout) drawLegend(c draw.Canvas) {
	width := l.entryWidth()
	left := c.Center().X - width*vg.Length(l.perRow)/2 + 9
	top := c.Min.Y + l.bottom - rowSkip
	names := textStyle(labelSize, black)
	names.YAlign = text.YCenter
	for i, name := range l.legend {
		x, y := left+width*vg.Length(i%l.perRow), top-rowSkip*vg.Length(i/l.perRow)
		style := l.styles[name]
		if l.lines[name] {
			c.StrokeLine2(style.line(), x, y, x+thumb, y)
			c.DrawGlyph(style.point(fewPoints), vg.Point{X: x + thumb/2, Y: y})
		} else {
			c.DrawGlyph(style.mark(), vg.Point{X: x + thumb/2, Y: y})
		}
		c.FillText(names, vg.Point{X: x + thumb + 5, Y: y}, clip(name, longestLabel))
	}
}
