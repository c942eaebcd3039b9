/** The buttons that follow a page or an organisation. They work without script. */

import type { AnswerOf } from '../../http/in-process.ts'
import type { PageContext } from '../page-context.ts'

export type Follow = AnswerOf<'listFollows'>['follows'][number]

/** Reads whether the visitor follows the node, or the organisation without one. Null: does not. Undefined: cannot. */
export async function readFollow(
  { api, person }: PageContext,
  org: { readonly id: string; readonly role?: string },
  node?: string,
): Promise<Follow | null | undefined> {
  if (person === undefined || org.role === undefined) return undefined
  const query = { org_id: org.id, ...(node !== undefined && { node_id: node }), limit: 200 }
  const { follows } = await api.listFollows({ query })
  return follows.find(({ node_id }) => node_id === node) ?? null
}

interface Props {
  readonly visit: PageContext
  readonly org: string
  readonly node?: string
  readonly follow: Follow | null
  readonly style?: string
}

export function FollowButtons({ visit: { urls, here }, org, node, follow, style }: Props) {
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
      {node === undefined && !follow && button('follow', 'Follow')}
      {node !== undefined && follow?.scope !== 'node' && button('follow-node', 'Follow this page')}
      {node !== undefined && follow?.scope !== 'tree' && button('follow-tree', 'Follow with subpages')}
      {follow && button('unfollow', 'Unfollow')}
    </form>
  )
}
