/** The inbox: what happened to what the user follows or takes part in. */

import { AppError } from '../../../base/errors.ts'
import type { AnswerOf } from '../../../http/in-process.ts'
import { Empty } from '../../../pages/kit/empty.tsx'
import { Line, Lines, signOf } from '../../../pages/kit/lines.tsx'
import { type Page, type PageContext, type PageResult, redirect } from '../../../pages/page-context.ts'
import { plural, When } from '../../../pages/parts/dates.tsx'
import { MuteButton } from '../../../pages/parts/follow-button.tsx'
import { field, showFormErrors } from '../../../pages/parts/forms.tsx'
import { HomeTabs } from '../../../pages/parts/home-tabs.tsx'
import { ownPath } from '../../../pages/urls.ts'
import { type InboxItem, linkOf, reasonOf, subjectOf, wordsOf } from './inbox-words.ts'

/** Items of a page. */
const mostItems = 30

export function showInbox(visit: PageContext): Promise<Page> {
  return inboxPage(visit)
}

export async function takeInbox(visit: PageContext): Promise<PageResult> {
  const { api, form, urls } = visit
  const [act, org_id, node_id] = [field(form, 'act'), field(form, 'org'), field(form, 'node')]
  const back = form.has('back') ? ownPath(urls, form.get('back')) : urls.me('inbox')
  const [path, nodePath] = [{ org_id }, { org_id, node_id }]
  try {
    if (act === 'feed') return await inboxPage(visit, await api.createFeedToken())
    else if (act === 'end-feed') await api.endFeedToken()
    else if (act === 'read-all') await api.putInboxMark({ body: { cursor: field(form, 'cursor') } })
    else if (act === 'read') await api.putOrgInboxMark({ path, body: { item: field(form, 'item') } })
    else if (act === 'follow') await api.followOrg({ path })
    else if (act === 'follow-node') await api.followNode({ path: nodePath, body: { scope: 'node' } })
    else if (act === 'follow-tree') await api.followNode({ path: nodePath, body: { scope: 'tree' } })
    else if (act === 'mute') await api.muteNode({ path: nodePath })
    else if (act === 'unmute') await api.unmuteNode({ path: nodePath })
    else if (act === 'mute-proposal') await mutePull(visit, true)
    else if (act === 'unmute-proposal') await mutePull(visit, false)
    else if (act === 'unfollow' && node_id === '') await api.unfollowOrg({ path })
    else if (act === 'unfollow') await api.unfollowNode({ path: nodePath })
    else throw new AppError('bad_request', 'The form does not name a known action')
  } catch (error) {
    return showFormErrors(error, () => inboxPage(visit))
  }
  return redirect(303, back)
}

function mutePull({ api, form }: PageContext, muted: boolean): Promise<void> {
  const path = { org_id: field(form, 'org'), node_id: field(form, 'node'), number: Number(field(form, 'number')) }
  return api.putReadMark({ path, body: { entry: 0, muted } })
}

type Feed = AnswerOf<'createFeedToken'>

async function inboxPage(visit: PageContext, feed?: Feed): Promise<Page> {
  const { api, urls, query } = visit
  const after = query.get('after') ?? undefined
  const read = await api.listInbox({ query: { limit: mostItems, ...(after !== undefined && { after }) } })
  const { follows, total } = await api.listFollows({ query: { limit: 50 } })
  for (const { org_id, org_name, node_id, node_title } of read.items) {
    urls.learn(org_id, org_name)
    if (node_id !== undefined && node_title) urls.learn(node_id, node_title)
  }
  return {
    ...{ kind: 'page', place: { crumb: 'Inbox' }, facts: { read, follows, total, feed: feed?.created_at } },
    head: { title: 'Inbox · Grove', noIndex: true },
    body: () => (
      <main id="main" class="wide home inbox">
        <h1>Inbox</h1>
        <HomeTabs urls={urls} here="inbox" unread={visit.unread} />
        <Items visit={visit} read={read} isFirst={after === undefined} />
        <p class="why">
          Choose what comes here, and what is mailed, in <a href={urls.me('notifications')}>Notifications</a>.
        </p>
        <Followed visit={visit} follows={follows} total={total} />
        <FeedSection visit={visit} feed={feed} />
      </main>
    ),
  }
}

interface ItemsProps {
  readonly visit: PageContext
  readonly read: AnswerOf<'listInbox'>
  readonly isFirst: boolean
}

function Items({ visit, read: { items, next, now, elsewhere }, isFirst }: ItemsProps) {
  const { urls } = visit
  const others = Object.values(elsewhere)
  if (items.length + others.length === 0 && next === undefined)
    return (
      <Empty example="inbox" begin={<a href={urls.home()}>Choose an organisation</a>}>
        The inbox has what happens to pages and organisations that you follow, and to proposals in which you take part.
      </Empty>
    )
  return (
    <section class="card waiting" aria-labelledby="items">
      <header>
        <h2 id="items">What happened</h2>
        {isFirst && items.some(({ unread }) => unread) && (
          <form method="post" action={urls.me('inbox')} class="r">
            <input type="hidden" name="cursor" value={now} />
            <button class="btn small" type="submit" name="act" value="read-all">
              Mark all as read
            </button>
          </form>
        )}
      </header>
      {items.length === 0 && <p class="empty">Nothing in this part of the log.</p>}
      <Lines>
        {items.map((item) => (
          <Item visit={visit} item={item} />
        ))}
      </Lines>
      {next !== undefined && (
        <p class="why">
          <a href={`${urls.me('inbox')}?after=${next}`}>Older</a>
        </p>
      )}
      {others.length > 0 && <p class="why">Organisations of another machine are left out: {others.join(', ')}</p>}
    </section>
  )
}

function Item({ visit: { urls }, item }: { readonly visit: PageContext; readonly item: InboxItem }) {
  const { id, org_id, org_name, node_id, node_title, number, count, unread, last_event } = item
  const { actors, reason_actor, types } = item
  const about = number === undefined || !node_title ? org_name : `${node_title} in ${org_name}`
  const isThere = node_id !== undefined && node_title !== null
  const facts = [node_id !== undefined && about, reasonOf(item), count > 1 && plural(count, 'event')]
  return (
    <Line
      who={reason_actor?.name ?? actors[0]?.name}
      sign={signOf(types[0] ?? '')}
      time={last_event.at}
      isUnread={unread}
      facts={facts.filter(Boolean).join(' · ')}
      acts={
        (unread || isThere) && (
          <form method="post" action={urls.me('inbox')}>
            <input type="hidden" name="org" value={org_id} />
            <input type="hidden" name="item" value={id} />
            {unread && (
              <button
                class="btn small quiet"
                type="submit"
                name="act"
                value="read"
                aria-label={`Mark as read: ${subjectOf(item)}`}
              >
                Mark as read
              </button>
            )}
            {isThere && <MuteButton node={node_id} number={number} title={subjectOf(item)} style="btn small quiet" />}
          </form>
        )
      }
    >
      <a href={linkOf(urls, item)}>
        <strong>{subjectOf(item)}</strong> {number !== undefined && <span class="why">#{number}</span>}
      </a>{' '}
      {wordsOf(item)}
    </Line>
  )
}

interface FollowedProps {
  readonly visit: PageContext
  readonly follows: AnswerOf<'listFollows'>['follows']
  readonly total: number
}

function Followed({ visit: { urls }, follows, total }: FollowedProps) {
  if (total === 0) return undefined
  const named = ({ node_id, node_title }: FollowedProps['follows'][number]) =>
    node_id === undefined ? 'A whole organisation' : (node_title ?? 'A deleted page')
  return (
    <section aria-labelledby="followed">
      <h2 id="followed">You follow</h2>
      <ul class="rows">
        {follows.map((one) => (
          <li>
            <div>
              <a href={one.node_id === undefined ? urls.org(one.org_id) : urls.node(one.org_id, one.node_id)}>
                <strong>{named(one)}</strong>
              </a>
              <small>
                {one.scope === 'tree' && 'with subpages · '}
                since <When time={one.created_at} as="day" />
              </small>
            </div>
            <form method="post" action={urls.me('inbox')}>
              <input type="hidden" name="org" value={one.org_id} />
              {one.node_id !== undefined && <input type="hidden" name="node" value={one.node_id} />}
              <button class="btn small" type="submit" name="act" value="unfollow" aria-label={`Unfollow ${named(one)}`}>
                Unfollow
              </button>
            </form>
          </li>
        ))}
      </ul>
      {total > follows.length && <p class="why">and {total - follows.length} more</p>}
    </section>
  )
}

function FeedSection({ visit: { urls }, feed }: { readonly visit: PageContext; readonly feed: Feed | undefined }) {
  return (
    <section aria-labelledby="feed">
      <h2 id="feed">Feed</h2>
      {feed && (
        <section class="made" aria-label="New feed URL">
          <p>Copy the URL now. It is shown only once. Anyone who has it can read your inbox.</p>
          <p class="copy" data-token>
            {feed.url}
          </p>
        </section>
      )}
      <p class="why">Read your inbox in a feed reader. Creating a new link turns the old one off.</p>
      <form method="post" action={urls.me('inbox')}>
        <button class="btn" type="submit" name="act" value="feed">
          Create a feed URL
        </button>{' '}
        <button class="btn quiet" type="submit" name="act" value="end-feed">
          End the feed
        </button>
      </form>
    </section>
  )
}
