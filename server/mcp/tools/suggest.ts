/** The tool that suggests a text in a proposal. No tool applies suggestions. */

import { z } from 'zod'
import * as limits from '../../base/limits.ts'
import { entryNumber, nodeId, orgId, proposalNumber, tool } from '../tool.ts'
import { placeInput, remark, requirePlace, whereOf } from './comment.ts'

export const suggest = tool({
  name: 'suggest',
  title: 'Suggest a text in a proposal',
  description:
    'Suggests a text for words or lines of a proposal (pull request), in the name of the owner of the token. `replacement` replaces the words `quote` of the file `path` in the proposed content. Without `quote`, it replaces whole lines from `first_line`. With `thread`, it replaces what that thread is about. A user can apply the suggestion on the page. A repeated call returns the existing suggestion. The call itself changes nothing.',
  access: 'write',
  isIdempotent: true,
  operations: ['createComment', 'getPull', 'getComment'],
  input: z.strictObject({
    org_id: orgId,
    node_id: nodeId,
    number: proposalNumber,
    replacement: z
      .string()
      .max(limits.suggestionBytes)
      .describe('The text instead of the quoted words or the lines. An empty text removes them'),
    why: z.string().max(limits.commentBytes).default('').describe('The reason, as Markdown'),
    thread: entryNumber
      .optional()
      .describe('Answer this thread, from read_discussion. Leave out path, quote and lines'),
    ...placeInput,
  }),
  run: async (session, { replacement, why, ...place }) => {
    requirePlace(place)
    return remark(session, { ...place, text: why, suggestion: replacement })
  },
  where: (_, loc) =>
    whereOf(loc)
      .replace(/^suggestion$/, 'replacement')
      .replace(/^text$/, 'why'),
})
