/** Formulas on pages: which dollars begin one, the MathML, and limits on what an author may ask for. */

import { expect } from 'chai'
import fc from 'fast-check'
import { toolsFor } from '../../server/pages/text/drawing.ts'
import { formula } from '../../server/pages/text/formulas.ts'
import { markdown } from '../../server/pages/text/markdown.ts'
import { newEnv, renderText } from '../../server/pages/text/rendering.ts'

const render = async (text: string) => renderText(text, '', () => undefined, await toolsFor(text))
/** The formulas of a text: `$x$` of a line, `$$x$$` of a block or display formula. */
function formulasIn(text: string): string[] {
  const tokens = markdown.parse(
    text,
    newEnv(() => undefined),
  )
  const found = tokens.flatMap((token) => [token, ...(token.children ?? [])])
  return found
    .filter(({ type }) => type.startsWith('math_'))
    .map(({ type, content, markup }) => `${type === 'math_block' ? 'block ' : ''}${markup}${content}${markup}`)
}

describe('formulas in a text', () => {
  const cases: [what: string, text: string, formulas: string[]][] = [
    ['one in a line', 'Let $x_1$ be.', ['$x_1$']],
    ['money', 'It costs $5 and $6, or $20,000 and $30,000.', []],
    ['money before a formula', 'It costs $5 and $x$.', ['$x$']],
    ['white space after the opening dollar', 'a $ x$ b', []],
    ['white space before the closing dollar', 'a $x $ b', []],
    ['a digit after the closing dollar', 'a $x$5 b', []],
    ['escaped dollars', 'a \\$x\\$ and $a\\$b$', ['$a\\$b$']],
    ['code', '`$x$` and $a `b$` c', []],
    ['fenced code', '```\n$x$\n$$\ny\n$$\n```', []],
    ['marks of Markdown', '$a_b*c_d*e$ and $\\{[x](y)\\}\\\\<br>$', ['$a_b*c_d*e$', '$\\{[x](y)\\}\\\\<br>$']],
    ['a wiki link', '$A[[x]]$', ['$A[[x]]$']],
    ['two lines', 'a $x\n+y$ b', ['$x\n+y$']],
    ['two paragraphs', 'a $x\n\n+y$ b', []],
    ['a display formula in a line', 'a $$x$$ b $$ y $$', ['$$x$$', '$$ y $$']],
    ['no formula between four dollars', 'a $$$$ b', []],
    ['one unfinished', 'a $$ b', []],
    ['a block', 'a\n$$\nx\n\ny\n$$\nb', ['block $$x\n\ny$$']],
    ['a block in a line', '$$x$$', ['block $$x$$']],
    ['a block that begins beside its dollars', '$$x\n=y$$\n', ['block $$x\n=y$$']],
    ['a block in a quotation and a list', '> $$\n> x\n> $$\n\n- a\n  $$\n  y\n  $$\n', ['block $$x$$', 'block $$y$$']],
    ['a block that the quotation ends', '> $$\n> x\n\n$$\n', []],
    ['text beside the dollars', 'a $$\nx\n$$\n\nb', ['$$\nx\n$$']],
    ['no block in code', '    $$\n    x\n    $$\n', []],
    ['an empty block', '$$\n\n$$\n', []],
  ]
  for (const [what, text, formulas] of cases)
    it(`are read with ${what}`, () => {
      expect(formulasIn(text)).to.deep.equal(formulas)
    })

  it('are MathML with the TeX, also as a fence, and of a heading the list has the characters', async () => {
    expect((await render('Let $x^2$ be')).html).to.equal(
      '<p>Let <math><semantics><mrow><msup><mi>x</mi><mn>2</mn></msup></mrow>' +
        '<annotation encoding="application/x-tex">x^2</annotation></semantics></math> be</p>\n',
    )
    const block =
      '<div class="math block"><math display="block"><semantics><mrow><mi>a</mi></mrow>' +
      '<annotation encoding="application/x-tex">a</annotation></semantics></math></div>\n'
    expect((await render('$$\na\n$$')).html).to.equal(block)
    expect((await render('```math\na\n```')).html).to.equal(block)
    const { headings } = await render('## The space $\\mathbb{R}^2$')
    expect(headings).to.deep.equal([{ level: 2, id: 'the-space-ℝ2', text: 'The space ℝ2' }])
  })

  it('show their TeX and say why, if they are invalid', async () => {
    expect((await render('$\\bad<x>$')).html).to.equal(
      '<p><code class="tex" title="This formula cannot be shown: Unsupported function name: \\bad.">\\bad&lt;x&gt;</code></p>\n',
    )
    expect((await render('$$\\frac{a}$$')).html).to.match(
      /^<div class="math block"><code class="tex" title="This formula cannot be shown: [^"]{5,200}\.">\\frac\{a}<\/code>/,
    )
  })

  const refused = [
    ...['\\def\\a{b}\\a', '\\newcommand\\a{b}', '\\href{javascript:alert(1)}{x}', '\\includegraphics{x.png}'],
    ...['\\url{https://x.example}', '\\class{a}{b}', '\\style{color:red}{b}', '\\id{main}{b}', '\\data{a=b}{c}'],
    ...['\\label{a}', '\\edef\\a{xx}\\edef\\a{\\a\\a}', '\\global\\let\\a=b'],
  ]
  for (const tex of refused)
    it(`do not follow ${tex}`, () => {
      expect(formula(tex, true)).to.have.keys('problem')
    })

  it('become as many elements as their length allows, however their commands are nested', () => {
    const nested = (open: string, times: number) => open.repeat(times) + '}'.repeat(times)
    const parts = ['{', '\\llap{', '\\mathllap{', '\\cancelto{x}{', '\\ce{', '\\fbox{', '\\sqrt{', '^{', '\\boxed{']
    for (const part of parts) expect(formula(nested(part, 300), true), part).to.have.keys('problem')
    // Each of these would build its content twice.
    expect(formula('\\llap{'.repeat(5), true).problem).to.equal('it is too large')
    expect(formula('\\ce{A->[\\ce{B}]C}', true).problem).to.equal('it is too large')
    expect(formula('\\ce{A} {\\ce{B}}', true)).to.have.any.keys('html')
    for (const part of ['x', '\\sqrt', '\\left(', '\\dots ', '\\LaTeX', "'", '\\over', 'a&', '\\text{a}', '\\tag{1}'])
      expect(formula(part.repeat(2_000 / part.length), true).html?.length ?? 0, part).to.be.below(200_000)
  })

  it('are drawn only as many and as long as a page may have', async () => {
    const { html } = await render('$x$ '.repeat(1_002))
    expect(html.match(/<math>/g)).to.have.length(1_000)
    expect(html.match(/title="This formula cannot be shown: this page has too many formulas\."/g)).to.have.length(2)
    expect((await render(`$${'x'.repeat(2_001)}$`)).html).to.include('it has more than 2,000 characters')
  })

  const piece = fc.constantFrom(
    ...['\\frac{', '}', '{', '^', '_', '\\left(', '\\right)', 'x', '&', '\\\\', '\\begin{array}{c|c}', '\\end{array}'],
    ...['\\text{', '<b>', '"', '\\color{red}', '\\rule{9em}{9em}', '\\hline', '\\boxed{', '\\cancel{', '\\tag{', "'"],
    ...['\\sum', '\\sqrt[', ']', '\\mathbb{R}', '\\hspace{99em}', '\\colorbox{red}{', '\\ce{', '\\textcolor{blue}{'],
  )

  it.deep('are only elements of MathML without styles, for any text', () => {
    let drawn = 0
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 25 }), fc.boolean(), (pieces, isDisplay) => {
        const { html, problem } = formula(pieces.join(''), isDisplay)
        expect(html === undefined).to.equal(problem !== undefined)
        if (html === undefined) return
        drawn++
        const open: string[] = []
        for (const [, end, name = '', attributes = ''] of html.matchAll(/<(\/?)([^\s>]*)([^>]*)>/g)) {
          expect(name).to.match(/^(m[a-z]+|semantics|annotation|none)$/)
          for (const [, attribute] of attributes.matchAll(/([^\s=]+)="[^"<>]*"/g))
            expect(attribute).not.to.match(/^(style|href|id|on.*|xlink.*|data-.*|src|mathbackground|mathcolor)$/)
          if (end === '') open.push(name)
          else expect(open.pop()).to.equal(name)
        }
        expect(open).to.deep.equal([])
      }),
      { numRuns: 2_000 },
    )
    expect(drawn).to.be.above(50)
  })
})
