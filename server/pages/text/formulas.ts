/** TeX as MathML, by temml. Loaded only for texts with formulas, because it is large. */

import temml from 'temml'

/** A drawn formula. */
export interface Drawn {
  readonly html?: string
  /** The characters that a reader sees. */
  readonly text?: string
  /** True if it may be wider than a phone. */
  readonly isLong?: boolean
  /** The reason why there is no HTML, as the end of a sentence. */
  readonly problem?: string
}

/**
 * Limits of one formula. `braces`: open at once. `levels`, `elements`: of the MathML. `size`: in em and in points.
 *
 * `expansions` counts the macros that temml defines itself.
 */
const most = { braces: 50, levels: 120, elements: 4_000, expansions: 500, size: [20, 200] } as const
/** Characters of an inline formula that fit on a phone. A longer one can scroll. */
const fitting = 24

/**
 * Commands that are refused. A macro can write a text of any size in few characters. The others lead out of the page, or
 * number formulas across it.
 */
const refused =
  /\\(?:[gex]?def|global|long|let|futurelet|(?:re|provide)?newcommand|renewcommand|DeclareMathOperator|href|url|includegraphics|class|id|style|data|label|ref|eqref|toggle|endtoggle)(?![A-Za-z])/

interface Node {
  readonly type?: string
  readonly text?: string
  readonly attributes?: Readonly<Record<string, unknown>>
  readonly classes?: readonly string[]
  readonly style?: Readonly<Record<string, unknown>>
  readonly children?: readonly Node[]
}

/** Commands whose content temml builds two or three times. Nested, they take exponential time. */
const doubling = /\\(?:math)?llap(?![A-Za-z])|\\cancelto(?![A-Za-z])|\\equilibrium(?:Left|Right)(?![A-Za-z])/g
const mostDoubling = 4

/** The exports of temml that draw a formula. Its types do not have them under these names. */
interface Library {
  readonly __renderToMathMLTree: (tex: string, settings: object) => Node
  readonly ParseError: new (...given: never[]) => Error
}
const { __renderToMathMLTree: treeOf, ParseError } = temml as unknown as Library // its types omit both

/** Draws a formula. If that fails, `problem` says why. @param isDisplay on its own line */
export function formula(tex: string, isDisplay: boolean): Drawn {
  const [command] = refused.exec(tex) ?? []
  if (command !== undefined) return { problem: `${command} is not supported here` }
  const { braces, isChemistryNested } = nestingOf(tex)
  if (braces > most.braces) return { problem: 'its braces are nested too deeply' }
  if (isChemistryNested || (tex.match(doubling)?.length ?? 0) > mostDoubling) return { problem: 'it is too large' }
  try {
    const settings = {
      displayMode: isDisplay,
      ...{ annotate: false, throwOnError: true, trust: false, strict: false },
      ...{ macros: {}, maxExpand: most.expansions, maxSize: [...most.size] },
    }
    const written = new Writer()
    const html = written.math(treeOf(asKnown(tex, isDisplay), settings), tex, isDisplay)
    return { html, text: written.text.trim(), isLong: written.text.length > fitting }
  } catch (error) {
    return { problem: problemOf(error) }
  }
}

/** Replaces environments that only other programs know, or allow in a line. */
function asKnown(tex: string, isDisplay: boolean): string {
  const known = tex
    .replace(/\\begin\{eqnarray\*?\}/g, '\\begin{array}{rcl}')
    .replace(/\\end\{eqnarray\*?\}/g, '\\end{array}')
  if (isDisplay) return known
  return known.replace(/(\\(?:begin|end)\{)(align|gather)\*?\}/g, '$1$2ed}')
}

/** Counts the braces that are open at once, and finds nested `\ce`. They become doubling commands. */
function nestingOf(tex: string): { readonly braces: number; readonly isChemistryNested: boolean } {
  let [open, braces, chemistry, isChemistryNested] = [0, 0, -1, false]
  for (const [mark] of tex.matchAll(/\\(?:ce|pu)(?![A-Za-z])|\\.|[{}]/gs)) {
    if (mark === '{') open++
    else if (mark === '}') {
      open--
      if (open <= chemistry) chemistry = -1
    }
    if (/^\\(ce|pu)$/.test(mark)) {
      isChemistryNested ||= chemistry >= 0 && open > chemistry
      chemistry = open
    }
    braces = Math.max(braces, open)
  }
  return { braces, isChemistryNested }
}

class TooLarge extends Error {}

function problemOf(error: unknown): string {
  // Besides its own errors, the parser recurses until the stack is full.
  if (error instanceof TooLarge || error instanceof RangeError) return 'it is too large'
  const message = error instanceof ParseError ? error.message : ''
  // After the message is the place in the formula, which is marked with combining characters.
  const [said = ''] = message.split(/ at (?:position|end of input)|\n/)
  return said.replace(/^[\s:]+|[\s.:]+$/g, '').slice(0, 200) || 'it is not valid TeX'
}

const elements = new Set([
  ...['math', 'mrow', 'mi', 'mn', 'mo', 'mtext', 'mspace', 'mstyle', 'mpadded', 'mphantom', 'menclose', 'none'],
  ...['mfrac', 'mroot', 'msqrt', 'msub', 'msup', 'msubsup', 'munder', 'mover', 'munderover', 'mmultiscripts'],
  ...['mprescripts', 'mtable', 'mtr', 'mtd'],
])
const attributes = new Set([
  ...['accent', 'columnalign', 'depth', 'displaystyle', 'fence', 'form', 'height', 'largeop', 'linethickness'],
  ...['lspace', 'mathvariant', 'maxsize', 'minsize', 'movablelimits', 'notation', 'rowspacing', 'rspace'],
  ...['scriptlevel', 'separator', 'stretchy', 'symmetric', 'voffset', 'width'],
])
/** Classes of temml that the style sheet knows. */
const classes = new Set([
  ...['mathcal', 'mathscr', 'tml-cancel', 'tml-xcancel', 'upstrike', 'downstrike', 'sout', 'tml-overline'],
  ...['tml-underline', 'tml-left', 'tml-right', 'tml-jot', 'tml-small', 'tml-fbox', 'tml-vec', 'tml-tag'],
])

/** Writes the tree of temml as HTML: without styles, which the content security policy forbids. */
class Writer {
  /** The characters that a reader sees. */
  text = ''
  private left: number = most.elements

  math(tree: Node, tex: string, isDisplay: boolean): string {
    // temml puts the rows of a formula into one element each, or writes them as one.
    const drawn = this.all(tree.children, 0)
    const display = isDisplay ? ' display="block"' : ''
    // Copying a formula gives its TeX in programs that know MathML.
    const source = `<annotation encoding="application/x-tex">${escaped(tex)}</annotation>`
    return `<math${display}><semantics><mrow>${drawn}</mrow>${source}</semantics></math>`
  }

  private all(nodes: readonly Node[] | undefined, level: number): string {
    return (nodes ?? []).map((node) => this.element(node, level)).join('')
  }

  private element(node: Node, level: number): string {
    if (--this.left < 0 || level > most.levels) throw new TooLarge()
    if (node.text !== undefined) {
      this.text += node.text
      return escaped(node.text)
    }
    const inner = this.all(node.children, level + 1)
    const { type = '' } = node
    if (!elements.has(type) || type === 'math') return inner
    const written = Object.entries(node.attributes ?? {})
      .filter(([name]) => attributes.has(name))
      .map(([name, value]) => ` ${name}="${escaped(String(value))}"`)
    const names = [...new Set([...(node.classes ?? []).filter((name) => classes.has(name)), ...classesOf(node)])]
    const named = names.length === 0 ? '' : ` class="${names.join(' ')}"`
    return `<${type}${written.join('')}${named}>${inner}</${type}>`
  }
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (unit) => entities[unit] ?? unit)
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Returns classes instead of styles that have a meaning: lines, distances of cells, colours. */
function* classesOf({ style = {}, attributes = {} }: Node): Generator<string> {
  const said = (name: string) => String(style[name] ?? '')
  for (const [side, name] of sides) {
    if (/solid|dashed|double/.test(said(`border${side}`))) yield `tex-line-${name}`
    const space = said(`padding${side}`)
    if (/^0(em|pt)?$/.test(space)) yield `tex-close-${name}`
    else if (/^[1-9][\d.]*em$/.test(space)) yield `tex-wide-${name}`
  }
  if (said('border') !== '') yield 'tex-box'
  if (said('width') === '100%') yield 'tex-full'
  if (said('width') === '50%') yield 'tex-half'
  if (attributes.mathbackground === 'black') yield 'tex-rule'
  const hue = hueOf(said('color'))
  if (hue !== undefined) yield `tex-${hue}`
}

const sides = [
  ['Left', 'left'],
  ['Right', 'right'],
  ['Top', 'top'],
  ['Bottom', 'bottom'],
] as const

/** Hues in degrees up to which a colour has a name. */
const hues = [
  [20, 'red'],
  [65, 'orange'],
  [165, 'green'],
  [255, 'blue'],
  [335, 'purple'],
  [360, 'red'],
] as const

/** Returns the nearest colour that is legible in light and dark. Grey, black and white are undefined. */
function hueOf(colour: string): string | undefined {
  const [red = 0, green = 0, blue = 0] = (/^#([\da-f]{2})([\da-f]{2})([\da-f]{2})$/i.exec(colour)?.slice(1) ?? []).map(
    (part) => Number.parseInt(part, 16),
  )
  const [high, low] = [Math.max(red, green, blue), Math.min(red, green, blue)]
  if (high - low < 40) return undefined
  const turned =
    high === red
      ? (green - blue) / (high - low)
      : high === green
        ? 2 + (blue - red) / (high - low)
        : 4 + (red - green) / (high - low)
  const degrees = (turned * 60 + 360) % 360
  return hues.find(([upTo]) => degrees <= upTo)?.[1]
}
