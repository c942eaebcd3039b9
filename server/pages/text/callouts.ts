/** Callouts: quotations that begin with `[!kind]`. With `-` or `+` after it, they fold. */

import type { Token } from 'markdown-it'
import type { Markdown } from '../../markdown/dialect.ts'
import { blockMark } from './page-rules.ts'

type Core = InstanceType<Markdown['core']['State']>

/** `[!kind]`, then an optional title. Obsidian's themes use `|…` for a look. */
const calloutMark = /^\[!([a-z][\w-]{0,30})(?:\|[^\]]{0,100})?\]([+-]?)[ \t]*/i

/** The families of kinds, which have a colour and an icon. Other kinds are notes. */
const families: Readonly<Record<string, readonly string[]>> = {
  tip: ['tip', 'hint', 'success', 'check', 'done', 'important'],
  question: ['question', 'help', 'faq'],
  warning: ['warning', 'warn', 'caution', 'attention'],
  danger: ['danger', 'error', 'failure', 'fail', 'missing', 'bug'],
  example: ['example', 'theorem', 'proof', 'definition', 'lemma', 'corollary'],
  quote: ['quote', 'cite'],
}
export const familyOf: ReadonlyMap<string, string> = new Map(
  Object.entries(families).flatMap(([family, kinds]) => kinds.map((kind) => [kind, family])),
)

/** Paths of the icons, in a square of 24 units. */
const icons: Readonly<Record<string, string>> = {
  note: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M12 11v5M12 8v.01',
  tip: 'M9 18h6M10 21h4M8.5 15a6 6 0 1 1 7 0c-.6.5-.8 1-.8 3h-5.4c0-2-.2-2.5-.8-3',
  question: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M9.5 9.5a2.5 2.5 0 1 1 3.5 2.3c-.7.3-1 .8-1 1.7M12 16.5v.01',
  warning: 'M12 4 2.5 20h19zM12 10v4.5M12 17.3v.01',
  danger: 'M8 3h8l5 5v8l-5 5H8l-5-5V8zM12 8v5M12 16v.01',
  example: 'M9 6h11M9 12h11M9 18h11M4.5 6v.01M4.5 12v.01M4.5 18v.01',
  quote: 'M9.5 7C6.5 8 5 10 5 13v4h5v-5H7.5M18.5 7c-3 1-4.5 3-4.5 6v4h5v-5h-2.5',
}

export function addCallouts(markdown: Markdown): void {
  markdown.core.ruler.after('inline', 'callouts', makeCallouts)
  markdown.renderer.rules.callout_icon = (tokens, index) => {
    const path = `<path d="${icons[tokens[index]?.info ?? ''] ?? icons.note}"></path>`
    return `<svg class="callout-icon" viewBox="0 0 24 24" aria-hidden="true">${path}</svg>`
  }
}

interface Callout {
  /** The kind, as it is written. */
  readonly kind: string
  readonly family: string
  readonly fold: 'no' | 'open' | 'closed'
}

function makeCallouts(state: Core): void {
  const open: (Callout | undefined)[] = []
  const made: Token[] = []
  for (const [index, token] of state.tokens.entries()) {
    if (token.type === 'blockquote_close') {
      const ended = open.pop()
      if (ended) token.tag = elementOf(ended)
    }
    made.push(token)
    if (token.type !== 'blockquote_open') continue
    const words = state.tokens[index + 2]
    const [first] = words?.children ?? []
    const [mark, kind, fold] = (first?.type === 'text' && calloutMark.exec(first.content)) || []
    if (mark === undefined || kind === undefined || words?.children == null) {
      open.push(undefined)
      continue
    }
    const callout: Callout = {
      kind,
      family: familyOf.get(kind.toLowerCase()) ?? 'note',
      fold: fold === '-' ? 'closed' : fold === '+' ? 'open' : 'no',
    }
    open.push(callout)
    token.tag = elementOf(callout)
    token.attrSet('class', `callout ${callout.family}`)
    if (callout.fold === 'open') token.attrSet('open', '')
    // The title ends at the first break outside links and emphasis. Otherwise it would contain half of one.
    const end = words.children.findIndex(
      ({ type, level }) => level === 0 && (type === 'softbreak' || type === 'hardbreak'),
    )
    const title = words.children.slice(0, end < 0 ? undefined : end)
    words.children = end < 0 ? [] : words.children.slice(end + 1)
    if (first) first.content = first.content.slice(mark.length)
    made.push(...titleTokens(state, title, callout))
  }
  state.tokens = withoutEmpty(made)
}

function elementOf({ fold }: Callout): string {
  return fold === 'no' ? 'div' : 'details'
}

function titleTokens(state: Core, title: Token[], { kind, family, fold }: Callout): Token[] {
  const tag = fold === 'no' ? 'p' : 'summary'
  const opening = new state.Token('callout_title_open', tag, 1)
  opening.attrSet('class', 'callout-title')
  const icon = new state.Token('callout_icon', '', 0)
  icon.info = family
  const words = new state.Token('inline', '', 0)
  words.children = title
  if (title.every(({ content, type }) => type === 'text' && content.replace(blockMark, '').trim() === '')) {
    const name = new state.Token('text', '', 0)
    name.content = kind.charAt(0).toUpperCase() + kind.slice(1).toLowerCase()
    words.children = [name, ...title]
  }
  words.children = [icon, ...words.children]
  return [opening, words, new state.Token('callout_title_close', tag, -1)]
}

/** Removes paragraphs that became empty because the title used all of their text. */
function withoutEmpty(tokens: readonly Token[]): Token[] {
  const isEmpty = (at: number) =>
    tokens[at]?.type === 'paragraph_open' && tokens[at + 1]?.type === 'inline' && tokens[at + 1]?.children?.length === 0
  const kept: Token[] = []
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at]
    if (isEmpty(at)) at += 2
    else if (token) kept.push(token)
  }
  return kept
}
