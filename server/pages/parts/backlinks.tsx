/** The pages that link to a page, each with the sentence around its link. */

import type { Api } from '../../../spec/client/api.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { isMade } from '../linking.ts'
import type { Urls } from '../urls.ts'
import { plural } from './dates.tsx'
import { unlessBusy } from './degraded.ts'
import { isPlain, words } from './neighbours.tsx'

export type Backlinks = AnswerOf<'listBacklinks'>
type Backlink = Backlinks['backlinks'][number]
type Connection = AnswerOf<'getNode'>['connections'][number]
type Sentence = Pick<Backlink['links'][number], 'before' | 'text' | 'target' | 'after'>

/** `pages`: with sentences below a text. `sentences`: of each. `ms`: that the text waits for them. */
const most = { pages: 20, sentences: 1, ms: 700 } as const
/** UTF-16 units of a sentence with its link, and of the words of the link. */
const longest = { sentence: 240, link: 120 } as const

/** Reads the first backlinks. Returns undefined if there are none, or if the service is busy or late. */
export async function readBacklinks(
  api: Api,
  path: { readonly org_id: string; readonly node_id: string },
): Promise<Backlinks | undefined> {
  const asked: Promise<Backlinks | undefined> = api.listBacklinks({ path, query: { limit: most.pages } })
  const found = await unlessBusy(asked, undefined, [], most.ms)
  return found && found.total > 0 ? found : undefined
}

/** The id of the section's heading. */
export const backlinksId = 'backlinks'

interface SectionProps extends Pick<ListProps, 'urls' | 'org' | 'connections'> {
  readonly node: string
  readonly backlinks: Backlinks | undefined
}

/** The section below the text of a page. */
export function BacklinkSection({ urls, org, node, backlinks, connections }: SectionProps) {
  if (backlinks === undefined) return null
  const { total } = backlinks
  const hasMore = total > backlinks.backlinks.length || backlinks.backlinks.some(({ links }) => links.length > 1)
  return (
    <section class="below backlinks" aria-labelledby={backlinksId}>
      <h2 id={backlinksId}>Backlinks</h2>
      <BacklinkList {...{ urls, org, backlinks, connections }} sentences={most.sentences} />
      {hasMore && (
        <p class="more">
          <a class="btn" href={urls.backlinks(org, node)}>
            {total > most.pages ? `All ${plural(total, 'backlink')}` : 'All sentences'}
          </a>
        </p>
      )}
    </section>
  )
}

interface ListProps {
  readonly urls: Urls
  readonly org: string
  readonly backlinks: Backlinks
  /** The first connections of the page, which say what a link outside a text means. */
  readonly connections: readonly Connection[]
  /** Maximum sentences of each page. */
  readonly sentences: number
}

export function BacklinkList({ urls, org, backlinks: { backlinks, total }, connections, sentences }: ListProps) {
  // The pages of a long list are in the order of ids.
  const isWhole = total <= backlinks.length
  const shown = isWhole ? [...backlinks].sort(byTitle) : backlinks
  return (
    <ul>
      {shown.map(({ node_id, title, links, truncated }) => (
        <li>
          <a class="t" href={urls.node(org, node_id, title)}>
            {title}
          </a>
          {links.slice(0, sentences).map((link) => (
            <SentenceLine sentence={link} />
          ))}
          {links.length === 0 && !truncated && (
            <p>{outsideText(connections.filter(({ source }) => source === node_id))}</p>
          )}
          {truncated && sentences > 1 && <p class="why">Other links of this text are not shown.</p>}
        </li>
      ))}
    </ul>
  )
}

/** Says what the connections of a page mean whose text has no link. */
function outsideText(connections: readonly Connection[]): string {
  const meanings = connections.map(({ type, label }) =>
    [isPlain(type) ? '' : words(type), label].filter((part) => part !== '').join(' · '),
  )
  const said = [...new Set(meanings)].filter((meaning) => meaning !== '').join('; ')
  const where = connections.some(isMade) ? 'in its properties' : 'outside its text'
  return `Linked ${where}${said && `: ${said}`}`
}

function byTitle(a: Backlink, b: Backlink): number {
  return titles.compare(a.title, b.title) || (a.node_id < b.node_id ? -1 : 1)
}

const titles = new Intl.Collator('en', { numeric: true })

function SentenceLine({ sentence }: { readonly sentence: Sentence }) {
  const { before, link, after } = fitted(sentence)
  return (
    <p>
      {before}
      <mark>{link}</mark>
      {after}
    </p>
  )
}

/** Cuts a sentence to its longest length, so that the link stays in it. */
export function fitted({ before, text, target, after }: Sentence): { before: string; link: string; after: string } {
  const link = beginning(text || target, longest.link)
  const room = longest.sentence - link.length
  const half = Math.floor(room / 2)
  // A short side leaves its room to the other one.
  const beforeRoom = Math.max(half, room - after.length)
  const afterRoom = Math.max(half, room - before.length)
  return { before: ending(before, beforeRoom), link, after: beginning(after, afterRoom) }
}

function beginning(text: string, length: number): string {
  if (text.length <= length) return text
  const cut = text.slice(0, length - 1)
  return `${(/^([\s\S]+)\s\S*$/.exec(cut)?.[1] ?? cut).replace(/[\ud800-\udbff]$/, '').trimEnd()}…`
}

function ending(text: string, length: number): string {
  if (text.length <= length) return text
  const cut = text.slice(-(length - 1))
  return `…${(/^\S*\s([\s\S]+)$/.exec(cut)?.[1] ?? cut).replace(/^[\udc00-\udfff]/, '').trimStart()}`
}
