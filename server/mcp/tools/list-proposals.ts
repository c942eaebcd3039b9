/** The tool that lists the proposals of a node. */

import { z } from 'zod'
import { answer, list } from '../answer.ts'
import { asItem, brief, own } from '../quoted.ts'
import { proposalPage } from '../session.ts'
import { maxChars, nodeId, offset, orgId, pageOf, tool } from '../tool.ts'

const shownTitle = 240
const shownName = 120

export const listProposals = tool({
  name: 'list_proposals',
  title: 'List proposals',
  description:
    'The proposals to change a node, the newest first: number, title, author, status, branch, whether it can merge, page. diff with the branch as head shows what one proposes.',
  writes: false,
  operations: ['listPulls'],
  input: z.strictObject({
    org_id: orgId,
    node_id: nodeId,
    status: z.enum(['open', 'merged', 'closed', 'all']).default('open'),
    offset,
    limit: pageOf(50),
    max_chars: maxChars,
  }),
  run: async (session, { org_id, node_id, status, offset, limit, max_chars }) => {
    const path = { org_id, node_id }
    const { pull_requests, total } = await session.api.listPulls({ path, query: { status, offset, limit } })
    const items = pull_requests.map(({ number, title, author, status, source_branch, created_at, ...pr }) =>
      asItem({
        number,
        title: brief(title, shownTitle),
        author: brief(author, shownName),
        status,
        created_at,
        branch: source_branch,
        can_merge: status === 'open' ? pr.can_merge : undefined,
        merge_reasons: status === 'open' && !pr.can_merge ? pr.merge_reasons : undefined,
        page: proposalPage(session, org_id, node_id, number),
      }),
    )
    const rest = (next: number) => `ask with offset: ${next}`
    return answer(max_chars, [own`Proposals: ${total}.`], [list({ of: 'proposals', items, total, offset, rest })])
  },
})
