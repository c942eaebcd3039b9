/** The buttons that follow or mute a page, a proposal or an organisation. They work without script. */

import type { AnswerOf } from '../../http/in-process.ts'
import type { PageContext } from '../page-context.ts'

export interface Follow extends Partial<AnswerOf<'listFollows'>['follows'][number]> {
  readonly isFollowed: boolean
  readonly isMuted: boolean
}

/** Reads whether the visitor follows or has muted the node, or the organisation without one. Undefined: cannot. */
export async function readFollow(
  { api, person }: PageContext,
  org: { readonly id: string; readonly role?: string },
  node?: string,
): Promise<Follow | undefined> {
  if (person === undefined || org.role === undefined) return undefined
  const query = { org_id: org.id, ...(node !== undefined && { node_id: node }), limit: 200 }
  const [{ follows }, { mutes }] = await Promise.all([
    api.listFollows({ query }),
    node === undefined ? { mutes: [] } : api.listMutes({ query: { node_id: node } }),
  ])
  const found = follows.find(({ node_id }) => node_id === node)
  return { ...found, isFollowed: found !== undefined, isMuted: mutes.some(({ number }) => number === undefined) }
}

interface Props {
  readonly visit: PageContext
  readonly org: string
  readonly node?: string
  readonly follow: Follow
  readonly style?: string
}

export function FollowButtons({ visit: { urls, here }, org, node, follow, style }: Props) {
  const { isFollowed, isMuted, scope } = follow
  const button = (act: string, title: string) => (
    <button type="submit" class={style} name="act" value={act}>
      {title}
    </button>
  )
  return (
    <form method="post" action={urls.me('inbox')} class="follow">
      <input type="hidden" name="org" value={org} />
      {node !== undefined && <input type="hidden" name="node" value={node} />}
      <input type="hidden" name="back" value={here} />
      {node === undefined && !isFollowed && button('follow', 'Follow')}
      {node !== undefined && scope !== 'node' && button('follow-node', 'Follow this page')}
      {node !== undefined && scope !== 'tree' && button('follow-tree', 'Follow with subpages')}
      {isFollowed && button('unfollow', 'Unfollow')}
      {node !== undefined && (isMuted ? button('unmute', 'Unmute this page') : button('mute', 'Mute this page'))}
    </form>
  )
}

interface MuteProps {
  readonly node: string
  /** Undefined: the page. */
  readonly number: number | undefined
  readonly title: string
  readonly style: string
  readonly isMuted?: boolean
}

/** Mutes a page or a proposal, or ends that. It belongs to a form that is sent to the inbox. */
export function MuteButton({ node, number, title, style, isMuted = false }: MuteProps) {
  const word = isMuted ? 'Unmute' : 'Mute'
  return (
    <>
      <input type="hidden" name="node" value={node} />
      {number !== undefined && <input type="hidden" name="number" value={number} />}
      <button
        class={style}
        {...{ type: 'submit', name: 'act', value: word.toLowerCase() + (number === undefined ? '' : '-proposal') }}
        aria-label={`${word}: ${title}`}
      >
        {word}
      </button>
    </>
  )
}

/** Reads whether the visitor has muted the proposal. Undefined: they have no inbox there. */
export async function readPullMuted(
  { api, person }: PageContext,
  org: { readonly role?: string },
  { node_id, number }: { readonly node_id: string; readonly number: number },
): Promise<boolean | undefined> {
  if (person === undefined || org.role === undefined) return undefined
  const { mutes } = await api.listMutes({ query: { node_id } })
  return mutes.some((one) => one.number === number)
}

interface MuteFormProps {
  readonly visit: PageContext
  readonly org: string
  readonly pull: { readonly node_id: string; readonly number: number; readonly title: string }
  readonly isMuted: boolean
}

/** The button that mutes the proposal of the page. */
export function MuteForm({ visit: { urls, here }, org, pull, isMuted }: MuteFormProps) {
  const { node_id, number, title } = pull
  return (
    <form class="mute" method="post" action={urls.me('inbox')}>
      <input type="hidden" name="org" value={org} />
      <input type="hidden" name="back" value={here} />
      <MuteButton {...{ number, title, isMuted }} node={node_id} style="btn small quiet" />
      {isMuted && <p class="why">Only what asks you or mentions you comes into your inbox.</p>}
    </form>
  )
}
