/** The tool that lists proposals. */

import { z } from 'zod'
import type { Output } from '../../../spec/client/api.ts'
import { overriddenOf } from '../../base/consent-words.ts'
import { answer, list } from '../answer.ts'
import { asItem, brief, own } from '../quoted.ts'
import { proposalPage, type Session } from '../session.ts'
import { maxChars, nodeId, offset, orgId, pageOf, tool } from '../tool.ts'
import { consentFacts } from './consent.ts'

const shownTitle = 240
const shownName = 120

export const listProposals = tool({
  name: 'list_proposals',
  title: 'List proposals',
  description:
    'Lists the proposals (pull requests) of a node or, without `node_id`, of all nodes, newest first: number, title, author, status, branch, comments, open threads, page. `via` is the program that the author used. For one node, also approvals, requests for changes, whether each can be merged, and what its rules still ask for (`missing`, `checks`, `who_may_merge`). For all nodes, also node_id and node_title, or the `change_set` of several nodes. To see what one changes, call diff with its branch as `head`.',
  access: 'read',
  operations: ['listPulls', 'listOrgPulls'],
  input: z.strictObject({
    org_id: orgId,
    node_id: nodeId.optional(),
    status: z.enum(['open', 'merged', 'closed', 'all']).default('open'),
    offset,
    limit: pageOf(50),
    max_chars: maxChars,
  }),
  run: async (session, { max_chars, ...asked }) => {
    const { items, total } = await readProposals(session, asked)
    const rest = (next: number) => `call again with offset: ${next}`
    const { offset } = asked
    return answer(max_chars, [own`Proposals: ${total}.`], [list({ of: 'proposals', items, total, offset, rest })])
  },
})

interface Asked {
  readonly org_id: string
  readonly node_id?: string | undefined
  readonly status: 'open' | 'merged' | 'closed' | 'all'
  readonly offset: number
  readonly limit: number
}

async function readProposals(session: Session, { org_id, node_id, ...query }: Asked) {
  const factsOfPull = (pull: Listed) => ({
    title: brief(pull.title, shownTitle),
    author: brief(pull.author, shownName),
    ...(pull.opened_via?.client_name !== undefined && { via: brief(pull.opened_via.client_name, shownName) }),
    status: pull.status,
    created_at: pull.created_at,
    ...(pull.num_items === undefined && { branch: pull.source_branch }),
    comments: pull.comments,
    open_threads: pull.open_threads,
    page: proposalPage(session, org_id, pull.node_id, pull.number),
  })
  if (node_id === undefined) {
    const { pull_requests, total } = await session.api.listOrgPulls({
      path: { org_id },
      query: { ...query, group: 'change_set' },
    })
    const items = pull_requests.map((pull) => asItem({ ...namesOf(pull), ...factsOfPull(pull) }))
    return { items, total }
  }
  const { pull_requests, total } = await session.api.listPulls({ path: { org_id, node_id }, query })
  const items = pull_requests.map((pull) => {
    const { page, ...facts } = factsOfPull(pull)
    const { number, change_set } = pull
    return asItem({
      number,
      ...facts,
      ...(change_set && { change_set }),
      ...consentFacts(pull),
      ...overriddenFacts(pull),
      page,
    })
  })
  return { items, total }
}

/** Returns the names of a proposal: its node and number, or that of its set. */
export function namesOf(
  pull: Pick<Output<'listOrgPulls'>['pull_requests'][number], 'node_id' | 'node_title' | 'number' | 'num_items'>,
) {
  const { node_id, number, num_items } = pull
  if (num_items !== undefined) return { change_set: number, num_items }
  return { node_id, node_title: brief(pull.node_title, shownTitle), number }
}

/** How a proposal was merged in spite of rules. */
function overriddenFacts({ overridden }: Output<'getPull'>['pr']): object {
  if (overridden === undefined) return {}
  const { by, reason, reasons } = overridden
  return {
    overridden_by: brief(by.name, shownName),
    overridden: brief(overriddenOf(reasons), shownTitle),
    overridden_reason: brief(reason, shownTitle),
  }
}

/** The fields that both lists of pull requests have. */
interface Listed {
  readonly node_id: string
  readonly number: number
  readonly num_items?: number
  readonly title: string
  readonly author: string
  readonly opened_via?: { readonly client_name?: string }
  readonly status: string
  readonly created_at: string
  readonly source_branch: string
  readonly comments: number
  readonly open_threads: number
}
