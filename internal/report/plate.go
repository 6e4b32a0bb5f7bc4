package report

import (
	"fmt"
	"html"
	"html/template"
	"image/color"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nextbatch/nextbatch/internal/plate"
	"github.com/nextbatch/nextbatch/internal/words"
)

// BatchPlate is one of the plates that a batch is laid out on.
type BatchPlate struct {
	Shape *plate.Plate
	Title string
	Wells []BatchWell
	Of    string // what colours distinguish, such as the column of groups; empty for nothing
}

// BatchWell is a measurement on a plate.
type BatchWell struct {
	Well      string // A1
	Pick      int    // from 0; -1 for a labelled row that is measured once more
	ID        string
	Replicate int    // from 1; 0 if the row is measured once
	Colour    string // the value of BatchPlate.Of
}

// The colours of wells. Further ones repeat, and the tips of wells say what they stand for.
var wellColours = []color.RGBA{blue, orange, green, purple, vermillion, skyBlue, grey}

const (
	wellSize     = 30 // units of the drawing
	wellRadius   = 13
	narrowWells  = 12 // columns that a telephone shows side by side
	legendLength = 16 // characters of a name in the legend
)

// page draws the plate. A narrow screen gets parts of it below one another.
func (p *BatchPlate) page() pageFigure {
	drawing := plateDrawing{BatchPlate: p, at: map[string]BatchWell{}}
	for _, w := range p.Wells {
		drawing.at[w.Well] = w
		if w.Colour != "" && !slices.Contains(drawing.colours, w.Colour) {
			drawing.colours = append(drawing.colours, w.Colour)
		}
	}
	slices.Sort(drawing.colours)
	return pageFigure{Title: p.Title, Note: p.note(len(drawing.colours)),
		Wide: drawing.draw(p.wideClass(), p.Shape.Columns), Narrow: drawing.draw("narrow plate", narrowWells)}
}

// wideClass names the drawing for a wide screen, which has room for two plates of few columns side by side.
func (p *BatchPlate) wideClass() string {
	if p.Shape.Columns > narrowWells {
		return "wide fits plate large"
	}
	return "wide fits plate"
}

// note says how to read the drawing.
func (p *BatchPlate) note(colours int) string {
	text := "The number in a well is that of the pick"
	if slices.ContainsFunc(p.Wells, func(w BatchWell) bool { return w.Replicate > 0 && w.Pick >= 0 }) {
		text += ", a letter behind it the replicate"
	}
	if slices.ContainsFunc(p.Wells, func(w BatchWell) bool { return w.Pick < 0 }) {
		text += "; R is a labelled row that is measured once more"
	}
	if p.Shape.Wells() < p.Shape.Rows*p.Shape.Columns {
		text += "; hatched wells stay free for controls"
	}
	text += ". Point at a well for the id. The table of the batch has the well of each row, too."
	if colours > len(wellColours) {
		text += fmt.Sprintf(" Colours stand for %s, and repeat after %d.", p.Of, len(wellColours))
	}
	return text
}

// plateDrawing is a plate while it is drawn.
type plateDrawing struct {
	*BatchPlate
	at      map[string]BatchWell
	colours []string
	b       strings.Builder
	class   string
}

// draw returns the plate as an SVG element, in blocks of so many columns.
func (d *plateDrawing) draw(class string, columns int) template.HTML {
	d.b.Reset()
	d.class, _, _ = strings.Cut(class, " ")
	columns = min(columns, d.Shape.Columns)
	width, top := (columns+1)*wellSize, 0
	hatch := d.hatch()
	fmt.Fprintf(&d.b,
		`<defs><pattern id="%s" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line `+
			`x1="0" y1="0" x2="0" y2="6" stroke="var(--muted)" stroke-width="2"/></pattern></defs>`+"\n", hatch)
	for from := 0; from < d.Shape.Columns; from += columns {
		d.block(top, from, min(from+columns, d.Shape.Columns))
		top += (d.Shape.Rows+1)*wellSize + wellSize/2
	}
	height := d.legend(top-wellSize/4, width)
	return template.HTML(fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" class="%s" `+
		`style="max-width:%dpx" role="img" aria-label="%s">`+"\n",
		width, height, class, width*44/wellSize, html.EscapeString(d.alternative())) + d.b.String() + "</svg>\n")
}

// hatch is the name of the pattern of controls, which is unique on the page.
func (d *plateDrawing) hatch() string {
	return "hatch-" + d.class + "-" + notWord.ReplaceAllString(d.Title, "-")
}

var notWord = regexp.MustCompile(`[^0-9A-Za-z]+`)

// alternative describes the plate in words.
func (d *plateDrawing) alternative() string {
	return fmt.Sprintf("%s of %d rows and %d columns: %s, %s free for controls. The column of wells in the table of the "+
		"batch says the same.", d.Title, d.Shape.Rows, d.Shape.Columns,
		words.Count(len(d.Wells), "measurement", "measurements"),
		words.Count(d.Shape.Rows*d.Shape.Columns-d.Shape.Wells(), "well", "wells"))
}

func (d *plateDrawing) text(x, y, size int, class, text string) {
	fmt.Fprintf(&d.b, `<text x="%d" y="%d" font-size="%d" text-anchor="middle" class="%s">%s</text>`+"\n", x, y, size,
		class, html.EscapeString(text))
}

// block draws some columns.
func (d *plateDrawing) block(top, from, to int) {
	for column := from; column < to; column++ {
		d.text((column-from)*wellSize+wellSize*3/2, top+20, 12, "edge", fmt.Sprint(column+1))
	}
	for row := range d.Shape.Rows {
		y := top + (row+1)*wellSize + wellSize/2
		d.text(wellSize/2, y+4, 12, "edge", strings.TrimRight(d.Shape.Name(row, 0), "0123456789"))
		for column := from; column < to; column++ {
			d.well(row, column, (column-from+1)*wellSize+wellSize/2, y)
		}
	}
}

// well draws one well.
func (d *plateDrawing) well(row, column, x, y int) {
	name := d.Shape.Name(row, column)
	w, used := d.at[name]
	switch {
	case d.Shape.Control(row, column):
		fmt.Fprintf(&d.b, `<circle cx="%d" cy="%d" r="%d" fill="url(#%s)" stroke="var(--muted)" data-tip="%s: control"/>`+
			"\n", x, y, wellRadius, d.hatch(), name)
		return
	case !used:
		fmt.Fprintf(&d.b, `<circle cx="%d" cy="%d" r="%d" fill="none" stroke="var(--line)"/>`+"\n", x, y, wellRadius)
		return
	}
	fill, stroke := "var(--soft)", "var(--text)"
	if w.Colour != "" {
		stroke = onPage(d.colour(w.Colour))
		fill = "color-mix(in srgb, " + stroke + " 25%, transparent)"
	}
	if w.Pick < 0 {
		fill = "none"
	}
	key := ""
	if w.Pick >= 0 {
		key = fmt.Sprintf(` data-key="%s"`, pickKey(w.Pick))
	}
	fmt.Fprintf(&d.b, `<g class="well" data-tip="%s"%s><circle cx="%d" cy="%d" r="%d" style="fill:%s;stroke:%s"/>`,
		html.EscapeString(clip(d.tip(w), longestTip)), key, x, y, wellRadius, fill, stroke)
	label := wellLabel(w)
	d.text(x, y+4, []int{12, 12, 12, 11, 9, 7}[min(len(label), 5)], "in", label)
	d.b.WriteString("</g>\n")
}

// wellLabel is what a well shows: the number of the pick and the letter of the replicate.
func wellLabel(w BatchWell) string {
	if w.Pick < 0 {
		return "R"
	}
	label := fmt.Sprint(w.Pick + 1)
	if w.Replicate > 0 && w.Replicate <= 26 {
		label += string(rune('a' + w.Replicate - 1))
	}
	return label
}

// tip describes a well.
func (d *plateDrawing) tip(w BatchWell) string {
	lines := []string{w.Well + ": " + w.ID}
	switch {
	case w.Pick < 0:
		lines = append(lines, "a labelled row, measured once more")
	case w.Replicate > 0:
		lines = append(lines, fmt.Sprintf("pick %d, replicate %d", w.Pick+1, w.Replicate))
	default:
		lines = append(lines, fmt.Sprintf("pick %d", w.Pick+1))
	}
	if w.Colour != "" {
		lines = append(lines, d.Of+" "+w.Colour)
	}
	return strings.Join(lines, "\n")
}

func (d *plateDrawing) colour(value string) color.RGBA {
	return wellColours[slices.Index(d.colours, value)%len(wellColours)]
}

// onPage is a colour that follows the theme of the page.
func onPage(c color.RGBA) string { return "var(" + colourName(hexOf(c)) + "," + hexOf(c) + ")" }

// legend draws what colours stand for, if they are few, and returns the height of the drawing.
func (d *plateDrawing) legend(top, width int) int {
	if len(d.colours) == 0 || len(d.colours) > len(wellColours) {
		return top
	}
	x, y := wellSize/2, top+12
	for _, value := range d.colours {
		name := clip(d.Of+" "+value, legendLength)
		length := 24 + 8*utf8.RuneCountInString(name)
		if x+length > width && x > wellSize/2 {
			x, y = wellSize/2, y+20
		}
		stroke := onPage(d.colour(value))
		fmt.Fprintf(&d.b,
			`<circle cx="%d" cy="%d" r="6" style="fill:color-mix(in srgb, %s 25%%, transparent);stroke:%s"/><text x="%d" `+
				`y="%d" font-size="12" class="edge">%s</text>`+"\n",
			x, y, stroke, stroke, x+11, y+4, html.EscapeString(name))
		x += length
	}
	return y + 14
}
