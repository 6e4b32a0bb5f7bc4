package formats

// xmlHeader begins each part of a workbook.
const xmlHeader = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"

// What stands in front of the columns of a sheet: the header row stays in view.
const sheetStart = `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">` +
	`<sheetViews><sheetView tabSelected="1" workbookViewId="0"><pane ySplit="1" topLeftCell="A2" ` +
	`activePane="bottomLeft" state="frozen"/>` +
	`<selection pane="bottomLeft" activeCell="A2" sqref="A2"/></sheetView></sheetViews><sheetFormatPr ` +
	`defaultRowHeight="15"/>`

// sheetStyle is a style of a cell: its place in the list cellXfs below.
type sheetStyle int

const (
	_ sheetStyle = iota // that of cells that say nothing
	headerStyle
	numberStyle
	textStyle
	wrappedStyle
	dateStyle
	timeStyle
	labelStyle
	labelHeaderStyle
)

// workbookParts are the parts of a workbook besides its sheet.
var workbookParts = []struct{ name, text string }{
	{"[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
		`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
		`<Default Extension="xml" ContentType="application/xml"/>` +
		`<Override PartName="/xl/workbook.xml" ` +
		`ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>` +
		`<Override PartName="/xl/styles.xml" ` +
		`ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml"/>` +
		`<Override PartName="/xl/worksheets/sheet1.xml" ` +
		`ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>`},
	{"_rels/.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` +
		`<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" ` +
		`Target="xl/workbook.xml"/></Relationships>`},
	{"xl/workbook.xml",
		`<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" ` +
			`xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">` +
			`<bookViews><workbookView/></bookViews><sheets><sheet name="table" sheetId="1" r:id="rId1"/></sheets></workbook>`},
	{"xl/_rels/workbook.xml.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` +
		`<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" ` +
		`Target="worksheets/sheet1.xml"/>` +
		`<Relationship Id="rId2" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" ` +
		`Target="styles.xml"/></Relationships>`},
	{"xl/styles.xml", `<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">` +
		`<numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\-mm\-dd"/><numFmt numFmtId="165" ` +
		`formatCode="yyyy\-mm\-dd\ hh:mm:ss"/></numFmts>` +
		`<fonts count="2"><font><sz val="11"/><name val="Calibri"/><family val="2"/></font><font><b/><sz val="11"/><name ` +
		`val="Calibri"/><family val="2"/></font></fonts>` +
		`<fills count="5"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill>` +
		solid("FFE7E6E6") + solid("FFFFF2CC") + solid("FFFFD966") + `</fills>` +
		`<borders count="2"><border><left/><right/><top/><bottom/><diagonal/></border>` +
		`<border>` + thin("left") + thin("right") + thin("top") + thin("bottom") + `<diagonal/></border></borders>` +
		`<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>` +
		`<cellXfs count="9"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>` +
		cellFormat(`numFmtId="0" fontId="1" fillId="2" borderId="0" applyFont="1" applyFill="1"`, "") +
		cellFormat(`numFmtId="0" fontId="0" fillId="0" borderId="0"`, "") +
		// as text also after it is edited
		cellFormat(`numFmtId="49" fontId="0" fillId="0" borderId="0" applyNumberFormat="1"`, "") +
		// likewise; Excel shows long texts of format 49 as ####
		cellFormat(`numFmtId="0" fontId="0" fillId="0" borderId="0" quotePrefix="1"`, ` wrapText="1"`) +
		cellFormat(`numFmtId="164" fontId="0" fillId="0" borderId="0" applyNumberFormat="1"`, "") +
		cellFormat(`numFmtId="165" fontId="0" fillId="0" borderId="0" applyNumberFormat="1"`, "") +
		cellFormat(`numFmtId="0" fontId="0" fillId="3" borderId="1" applyFill="1" applyBorder="1"`, "") +
		cellFormat(`numFmtId="0" fontId="1" fillId="4" borderId="1" applyFont="1" applyFill="1" applyBorder="1"`, "") +
		`</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`},
}

func solid(colour string) string {
	return `<fill><patternFill patternType="solid"><fgColor rgb="` + colour +
		`"/><bgColor indexed="64"/></patternFill></fill>`
}

func thin(side string) string {
	return `<` + side + ` style="thin"><color rgb="FFBFBFBF"/></` + side + `>`
}

func cellFormat(attributes, alignment string) string {
	return `<xf ` + attributes + ` xfId="0" applyAlignment="1"><alignment vertical="top"` + alignment + `/></xf>`
}
