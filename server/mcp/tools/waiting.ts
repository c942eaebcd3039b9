/** The tool that lists the proposals that wait for the user. */

import { z } from 'zod'
import type { Output } from '../../../spec/client/api.ts'
import { answer, list } from '../answer.ts'
import { asItem, brief, own } from '../quoted.ts'
import { factsOf } from '../refusals.ts'
import { proposalPage, type Session } from '../session.ts'
import { maxChars, offset, orgId, pageOf, tool } from '../tool.ts'
import { namesOf } from './list-proposals.ts'

const shownTitle = 240
const shownName = 120
/** The most organisations of other cells that are named. */
const shownElsewhere = 50
const elsewhereShare = 0.3

export const waiting = tool({
  name: 'waiting',
  title: 'List what waits for the user',
  description:
    'Lists the proposals (pull requests) that wait for the owner of the token, the last active first. The reasons are review_requested, mentioned, answered, changes_requested, open_threads and ready_to_merge. Without `org_id`, those of all organisations. To see one, call read_discussion.',
  access: 'read',
  operations: ['listWaiting', 'listOrgWaiting'],
  input: z.strictObject({ org_id: orgId.optional(), offset, limit: pageOf(50), max_chars: maxChars }),
  run: async (session, { org_id, offset, limit, max_chars }) => {
    const { waiting: found, total, elsewhere } = await readWaiting(session, org_id, { offset, limit })
    const items = found.map(({ last_activity_at, reasons, status, ...pull }) =>
      asItem({
        org_id: pull.org_id,
        org_name: brief(pull.org_name, shownName),
        ...namesOf(pull),
        title: brief(pull.title, shownTitle),
        author: brief(pull.author, shownName),
        ...{ status, reasons, last_activity_at },
        page: proposalPage(session, pull.org_id, pull.node_id, pull.number),
      }),
    )
    const others = Object.entries(elsewhere).map(([id, name]) => asItem({ org_id: id, name: brief(name, shownName) }))
    const rest = (next: number) => `call again with offset: ${next}`
    const lead = [
      own`Proposals that wait: ${total}.`,
      ...(others.length === 0
        ? []
        : ['Organisations that another server has are not included. To see theirs, call again with each org_id.']),
    ]
    return answer(max_chars, lead, [
      ...(others.length === 0 ? [] : [elsewhereOf(others)]),
      list({ of: 'proposals', items, total, offset, rest }),
    ])
  },
})

function elsewhereOf(others: readonly string[]) {
  const items = others.slice(0, shownElsewhere)
  const rest = () => 'list_organisations has all of them'
  return list({ of: 'organisations', items, total: others.length, share: elsewhereShare, rest })
}

/** Without `org_id`, a token of one organisation is refused. The refusal names the organisation. */
async function readWaiting(
  session: Session,
  org_id: string | undefined,
  query: { readonly offset: number; readonly limit: number },
): Promise<Output<'listWaiting'>> {
  const ofOne = async (id: string) => ({
    ...(await session.api.listOrgWaiting({ path: { org_id: id }, query })),
    elsewhere: {},
  })
  if (org_id !== undefined) return ofOne(org_id)
  try {
    return await session.api.listWaiting({ query })
  } catch (error) {
    const { tokenOrgId } = factsOf(session, error)
    if (tokenOrgId === undefined) throw error
    return ofOne(tokenOrgId)
  }
}
