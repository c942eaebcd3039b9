/** The prompts that a user picks: answer a question with sources, and review a proposal. */

import { z } from 'zod'
import { answer, charsOf, facts } from './answer.ts'
import { asItem, brief, own } from './quoted.ts'
import { ended, refusalText } from './refusals.ts'
import { type McpServer, ProtocolError, ProtocolErrorCode } from './sdk.ts'
import { proposalPage, type Session } from './session.ts'
import { nodeId, orgId } from './tool.ts'
import { consentFacts } from './tools/consent.ts'
import { entitiesOf } from './tools/history.ts'
import { search } from './tools/search.ts'
import { toolsFor } from './tools/table.ts'

export function registerPrompts(server: McpServer, session: Session): void {
  if (toolsFor(session).includes(search)) registerQuestion(server)
  registerReview(server, session)
}

function registerQuestion(server: McpServer): void {
  server.registerPrompt(
    'answer_with_sources',
    {
      title: 'Answer with sources',
      description: 'Answers a question from the nodes of an organisation, with a source for each statement.',
      argsSchema: z.object({ org_id: orgId, question: z.string().min(1).max(4_000) }),
    },
    ({ org_id, question }) => ({
      messages: [
        say(
          `Answer this question using only organisation ${org_id} of Grove. Search, read the best matches, and cite the source (grove://…@commit) after each statement. If the nodes do not answer it, say so.\n\nQuestion: ${question}`,
        ),
      ],
    }),
  )
}

function registerReview(server: McpServer, session: Session): void {
  server.registerPrompt(
    'review_proposal',
    {
      title: 'Review a proposal',
      description:
        'Shows what a proposal (pull request) changes, so that a model can review it before a user merges it.',
      argsSchema: z.object({ org_id: orgId, node_id: nodeId, number: z.string().regex(/^[1-9]\d{0,8}$/) }),
    },
    async ({ org_id, node_id, number }) => ({
      messages: [say(await review(session, org_id, node_id, Number(number)))],
    }),
  )
}

/** @throws ProtocolError */
async function review(session: Session, org_id: string, node_id: string, number: number): Promise<string> {
  const path = { org_id, node_id, number }
  const [{ pr }, text] = await Promise.all([
    session.api.getPull({ path }),
    session.api.getPullDiff({ path, query: {} }),
  ]).catch((error: unknown) => {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, refusalText(ended(session, error)))
  })
  const { title, description, author, status, can_merge, comments, open_threads, consent } = pr
  const chars = charsOf.default
  const lead = [
    own`Review proposal ${number} of node ${node_id}. Is its content true, is it in the right place, and what would be lost? A user merges or closes it at ${proposalPage(session, org_id, node_id, number)}`,
    own`Status: ${status}; can_merge: ${can_merge}. Approvals that count: ${consent.approvals}; requests for changes: ${consent.changes_requested}.`,
    `${own`Comments: ${comments}; open threads: ${open_threads}.`}${comments > 0 ? ' Read them with read_discussion.' : ''}`,
  ]
  const lines = [2_000, 200].map((most) =>
    asItem({
      title: brief(title, most),
      author: brief(author, most),
      description: brief(description, most) || undefined,
    }),
  )
  const consented = facts('consent', [asItem(consentFacts(pr, 'whole')), asItem(consentFacts(pr))])
  return answer(chars, lead, [facts('proposal', lines), consented, entitiesOf(text, chars)])
}

function say(text: string) {
  return { role: 'user' as const, content: { type: 'text' as const, text } }
}
