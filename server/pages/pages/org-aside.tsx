/** The column next to an organisation's text: open proposals, small map and members. */

import type { AnswerOf } from '../../http/in-process.ts'
import { Lines } from '../kit/lines.tsx'
import { plural } from '../parts/dates.tsx'
import { Initial } from '../parts/people.tsx'
import { SmallMap, type SmallMapFacts } from '../parts/small-map.tsx'
import { areasOf, type Tree } from '../parts/tree.tsx'
import type { Urls } from '../urls.ts'
import { PullLine } from './proposal-list.tsx'

type Org = AnswerOf<'getOrg'>

/** The data that only members see. */
export interface Aside {
  readonly proposals?: AnswerOf<'listOrgPulls'>
  readonly members?: AnswerOf<'listMembers'>
}

interface AsideProps {
  readonly urls: Urls
  readonly org: Org
  readonly aside: Aside
  readonly tree: Tree
  /** Undefined if it could not be read in time. */
  readonly map: SmallMapFacts | undefined
}

export function OrgAside({ urls, org, aside: { proposals, members }, tree, map }: AsideProps) {
  return (
    <div class="org-aside">
      {proposals !== undefined && proposals.total > 0 && <Proposals urls={urls} org={org} told={proposals} />}
      <Graph urls={urls} org={org} tree={tree} map={map} />
      {members !== undefined && <Members urls={urls} org={org} told={members} />}
    </div>
  )
}

interface ProposalsProps {
  readonly urls: Urls
  readonly org: Org
  readonly told: AnswerOf<'listOrgPulls'>
}

function Proposals({ urls, org, told: { pull_requests: pulls, total } }: ProposalsProps) {
  return (
    <section class="card">
      <header>
        <h2>{plural(total, 'open proposal')}</h2>
        <span class="r">
          <a href={urls.orgProposals(org.id)}>All proposals</a>
        </span>
      </header>
      <Lines>
        {pulls.map((pull) => (
          <PullLine
            urls={urls}
            org={org.id}
            pull={pull}
            facts={pull.num_items === undefined ? pull.node_title : plural(pull.num_items, 'page')}
          />
        ))}
      </Lines>
    </section>
  )
}

interface MembersProps {
  readonly urls: Urls
  readonly org: Org
  readonly told: AnswerOf<'listMembers'>
}

function Members({ urls, org, told: { members, total } }: MembersProps) {
  return (
    <section class="card">
      <header>
        <h2>{plural(total, 'member')}</h2>
        <span class="r">
          <a href={urls.members(org.id)}>All members</a>
        </span>
      </header>
      <ul class="initials">
        {members.map(({ name }) => (
          <li>
            <Initial name={name} />
          </li>
        ))}
        {total > members.length && <li class="why">+{(total - members.length).toLocaleString('en')}</li>}
      </ul>
    </section>
  )
}

interface GraphProps {
  readonly urls: Urls
  readonly org: Org
  readonly tree: Tree
  readonly map: SmallMapFacts | undefined
}

/** Shows the small map; without areas, the roots with children, largest first. */
function Graph({ urls, org, tree, map }: GraphProps) {
  const isDrawn = (map?.areas.length ?? 0) > 0
  const roots = areasOf(tree)
    .filter(({ num_children }) => num_children > 0)
    .sort((a, b) => b.num_children - a.num_children)
  if (!isDrawn && roots.length === 0) return null
  return (
    <section class="card">
      <header>
        <h2>Graph</h2>
        <span class="r">
          <a href={urls.graph(org.id)}>Open the graph</a>
        </span>
      </header>
      {map && isDrawn && <SmallMap urls={urls} org={org.id} map={map} />}
      {!isDrawn && (
        <ul class="areas">
          {roots.slice(0, 24).map(({ id, title, num_children }) => (
            <li>
              <a href={urls.node(org.id, id, title)}>
                <span class="dot" />
                <span>{title}</span>
                <span class="n">{num_children}</span>
              </a>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}
