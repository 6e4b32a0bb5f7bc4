package report

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"image/color"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// spot is a place in a figure that has a tooltip.
type spot struct {
	at       vg.Point
	tip, key string
}

// spotRadius is large enough for a finger.
const spotRadius = 5

var (
	svgComment = regexp.MustCompile(`(?s)<!--.*?-->\n?`)
	svgStart   = regexp.MustCompile(`(?s)^<svg\s[^>]*>`)
	svgPath    = regexp.MustCompile(`^<path d="([^"]*)"\s*(style="fill:[^"]*") ?/>$`)
	svgStyle   = regexp.MustCompile(`style="[^"]*"`)
	svgText    = regexp.MustCompile(`(?s)<text ([^>]*font-size:([0-9.]+)px[^>]*)>([^<]*)</text>`)
	svgColour  = regexp.MustCompile(`#[0-9A-Fa-f]{6}`)
)

// element returns the figure as an SVG element.
func (l *layout) element() ([]byte, error) {
	c := vgsvg.New(l.width, l.height)
	raw, err := l.bytes(c, c)
	if err != nil {
		return nil, err
	}
	_, raw, _ = bytes.Cut(raw, []byte("?>\n"))
	raw = svgComment.ReplaceAll(raw, nil)
	// Fallback fonts with the same metrics, for viewers that lack ours.
	return bytes.ReplaceAll(raw, []byte("font-family:Liberation Sans;"),
		[]byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;")), nil
}

// cutStart splits an SVG element behind its opening tag.
func cutStart(element []byte) (start, rest []byte) {
	end := svgStart.FindIndex(element)[1]
	return element[:end], bytes.TrimLeft(element[end:], "\n")
}

// page returns the figure for a page. On a narrow screen its panels are below one
// another, in the size that the text needs.
func (f *Figure) page() (pageFigure, error) {
	out := pageFigure{Title: f.Title, Note: f.Note}
	narrow := f.narrow()
	class := "wide"
	if narrow != nil {
		class = "wide fits"
		svg, err := narrow.inline("narrow")
		if err != nil {
			return out, err
		}
		out.Narrow = svg
	}
	svg, err := f.inline(class)
	out.Wide = svg
	return out, err
}

// narrowWidth is that of a panel on a telephone, in points.
const narrowWidth = vg.Length(245)

// narrow returns the figure with one panel per row, or nil if its panels are cells
// of a grid.
func (f *Figure) narrow() *Figure {
	if slices.ContainsFunc(f.Panels, func(p Panel) bool { return p.blank }) {
		return nil
	}
	out := *f
	width, height := f.panelSize()
	out.Columns, out.Width, out.Height = 1, narrowWidth, max(height*narrowWidth/width, narrowWidth*2/3)
	return &out
}

// inline returns the figure as an SVG element whose colours follow the page's theme,
// without title and note. Its text is escaped.
func (f *Figure) inline(class string) (template.HTML, error) {
	figure := *f
	figure.Title, figure.Note = "", ""
	l := figure.layout()
	raw, err := l.element()
	if err != nil {
		return "", err
	}
	start, rest := cutStart(raw)
	tag := strings.TrimSuffix(string(start), ">") + fmt.Sprintf(` class="%s" role="img" aria-label="%s">`, class,
		html.EscapeString(clip(f.Title, longestText)))
	body := joinPaths(strings.TrimSuffix(strings.TrimSpace(string(rest)), "</svg>"))
	body = svgStyle.ReplaceAllStringFunc(body, func(style string) string {
		return svgColour.ReplaceAllStringFunc(style, func(hex string) string {
			return "var(" +
				colourName(hex) + "," + hex + ")"
		})
	})
	body = svgText.ReplaceAllStringFunc(body, fixedWidth)
	return template.HTML(tag + "\n" + body + l.spotElements() + "</svg>\n"), nil
}

// fixedWidth makes a text as wide as the layout has measured it, whatever font the
// reader's machine has.
func fixedWidth(element string) string {
	m := svgText.FindStringSubmatch(element)
	size, err := strconv.ParseFloat(m[2], 64)
	if err != nil || m[3] == "" {
		return element
	}
	width := textStyle(vg.Length(size), black).Width(html.UnescapeString(m[3])).Points()
	return fmt.Sprintf(`<text textLength="%.1f" lengthAdjust="spacingAndGlyphs" %s>%s</text>`, width, m[1], m[3])
}

// joinPaths writes neighbouring shapes of one style as one path. Where they are
// translucent, overlaps are not darker, so thousands of points stay legible.
func joinPaths(svg string) string {
	var out []string
	before := "" // style of the last line, if it is a shape
	for line := range strings.SplitSeq(svg, "\n") {
		m := svgPath.FindStringSubmatch(line)
		switch {
		case m == nil:
			out, before = append(out, line), ""
		case m[2] == before:
			last := &out[len(out)-1]
			*last = strings.Replace(*last, `" style=`, m[1]+`" style=`, 1)
		default:
			out, before = append(out, `<path d="`+m[1]+`" `+m[2]+`/>`), m[2]
		}
	}
	return strings.Join(out, "\n")
}

// spotElements are invisible circles on top of the figure.
func (l *layout) spotElements() string {
	if len(l.spots) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(`<g class="spots">` + "\n")
	for _, s := range l.spots {
		fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="%d" data-tip="%s"`, s.at.X.Points(), (l.height - s.at.Y).Points(),
			spotRadius, html.EscapeString(clip(s.tip, longestTip)))
		if s.key != "" {
			fmt.Fprintf(&b, ` data-key="%s"`, html.EscapeString(s.key))
		}
		b.WriteString("/>\n")
	}
	return b.String() + "</g>\n"
}

// longestTip is the most characters of a tip.
const longestTip = 600

// colourName is the name of a figure's colour in the style sheet.
func colourName(hex string) string { return "--f" + strings.ToLower(strings.TrimPrefix(hex, "#")) }

// darkColours assigns the colours of figures on a dark page.
func darkColours() string {
	var b strings.Builder
	for _, c := range onDark {
		fmt.Fprintf(&b, "%s: %s; ", colourName(hexOf(c.light)), c.dark)
	}
	return b.String()
}

func hexOf(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }
