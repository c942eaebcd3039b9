/** Nodes as resources: `grove://{org_id}/{node_id}`, optionally with `@` and a commit id. */

import {
  type McpServer,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  ResourceTemplate,
} from '@modelcontextprotocol/server'
import { decodePercent } from '../base/percent-encoding.ts'
import { charsOf } from './answer.ts'
import { ended, refusalText } from './refusals.ts'
import type { Session } from './session.ts'
import { readNode } from './tools/read-node.ts'

export function registerResources(server: McpServer, session: Session): void {
  server.registerResource(
    'node',
    new ResourceTemplate('grove://{org_id}/{node_id}', { list: undefined }),
    {
      title: 'A node',
      description: 'The answer of read_node. `@` and a commit id may follow the node id.',
      mimeType: 'text/plain',
    },
    async (uri, { org_id, node_id: named = '' }) => {
      const [node_id, branch] = (decodePercent(String(named)) ?? '').split('@', 2)
      const asked = readNode.input.safeParse({ org_id, node_id, branch, max_chars: charsOf.most })
      if (!asked.success) throw new ResourceNotFoundError(uri.href)
      session.calls('resource', { org: String(org_id), node: node_id })
      try {
        const text = await readNode.run(session, asked.data)
        return { contents: [{ uri: uri.href, mimeType: 'text/plain', text }] }
      } catch (error) {
        const refusal = ended(session, error)
        if (refusal.status === 404) throw new ResourceNotFoundError(uri.href)
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, refusalText(refusal))
      }
    },
  )
}
