/** Callouts: quotations that begin with `[!kind]` and perhaps a title. */

import type MarkdownIt from 'markdown-it'
import type { Token } from 'markdown-it'

type Markdown = InstanceType<typeof MarkdownIt>

const begins = /^\[!([a-z][\w-]{0,30})\][+-]?[ \t]*/i

export function addCallouts(markdown: Markdown): void {
  markdown.core.ruler.after('inline', 'callouts', (state) => {
    const open: boolean[] = []
    const made: Token[] = []
    for (const [index, token] of state.tokens.entries()) {
      if (token.type === 'blockquote_close' && open.pop()) token.tag = 'div'
      made.push(token)
      if (token.type !== 'blockquote_open') continue
      const words = state.tokens[index + 2]
      const [first] = words?.children ?? []
      const [mark, kind] = (first?.type === 'text' && begins.exec(first.content)) || []
      open.push(kind !== undefined)
      if (mark === undefined || kind === undefined || words?.children == null) continue
      token.tag = 'div'
      token.attrSet('class', `callout ${kind.toLowerCase()}`)
      const end = words.children.findIndex(({ type }) => type === 'softbreak' || type === 'hardbreak')
      const title = words.children.slice(0, end < 0 ? undefined : end)
      words.children = end < 0 ? [] : words.children.slice(end + 1)
      if (first) first.content = first.content.slice(mark.length)
      made.push(...titleTokens(state, title, kind))
    }
    state.tokens = withoutEmpty(made)
  })
}

type Core = Parameters<Parameters<Markdown['core']['ruler']['after']>[2]>[0]

function titleTokens(state: Core, title: Token[], kind: string): Token[] {
  const opening = new state.Token('paragraph_open', 'p', 1)
  opening.attrSet('class', 'callout-title')
  const words = new state.Token('inline', '', 0)
  words.children = title
  if (title.every(({ content, type }) => type === 'text' && content.trim() === '')) {
    const name = new state.Token('text', '', 0)
    name.content = kind.charAt(0).toUpperCase() + kind.slice(1).toLowerCase()
    words.children = [name]
  }
  return [opening, words, new state.Token('paragraph_close', 'p', -1)]
}

/** Without paragraphs of which the title has taken all. */
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
