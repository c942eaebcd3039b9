/**
 * Nodes as resources: `grove://{org_id}/{node_id}`, optionally with `@` and a commit id. Types as resources:
 * `grove://{org_id}/types/{name}`.
 */

import { z } from 'zod'
import { decodePercent } from '../base/percent-encoding.ts'
import { charsOf } from './answer.ts'
import { asItem, newMarks, own } from './quoted.ts'
import { ended, refusalText } from './refusals.ts'
import { type McpServer, ProtocolError, ProtocolErrorCode, ResourceNotFoundError, ResourceTemplate } from './sdk.ts'
import type { Session } from './session.ts'
import { orgId, typeName } from './tool.ts'
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
    (uri, { org_id, node_id: named = '' }) => {
      const [node_id, branch] = (decodePercent(String(named)) ?? '').split('@', 2)
      const asked = readNode.input.safeParse({ org_id, node_id, branch, max_chars: charsOf.most })
      if (!asked.success) throw new ResourceNotFoundError(uri.href)
      session.calls('resource', { org: String(org_id), node: node_id })
      return contentsOf(session, uri, () => readNode.run(session, asked.data))
    },
  )
  server.registerResource(
    'type',
    new ResourceTemplate('grove://{org_id}/types/{name}', { list: undefined }),
    {
      title: 'A type',
      description: 'The whole definition of a type, as JSON. list_types names the types.',
      mimeType: 'text/plain',
    },
    (uri, { org_id, name }) => {
      const asked = typeAt.safeParse({ org_id, name })
      if (!asked.success) throw new ResourceNotFoundError(uri.href)
      session.calls('resource', { org: asked.data.org_id })
      return contentsOf(session, uri, () => readType(session, asked.data))
    },
  )
}

/** Reads a resource. @throws ResourceNotFoundError for 404; ProtocolError for other refusals */
async function contentsOf(session: Session, { href: uri }: URL, read: () => Promise<string>) {
  try {
    return { contents: [{ uri, mimeType: 'text/plain', text: await read() }] }
  } catch (error) {
    const refusal = ended(session, error)
    if (refusal.status === 404) throw new ResourceNotFoundError(uri)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, refusalText(refusal))
  }
}

const typeAt = z.strictObject({ org_id: orgId, name: typeName })

/** Writes a type with its whole definition, which has at most 64 KiB. */
async function readType({ api }: Session, { org_id, name }: z.infer<typeof typeAt>): Promise<string> {
  const { version, num_nodes, definition } = await api.getType({ path: { org_id, type_name: name } })
  const { open, close } = newMarks()
  return [
    own`A type of organisation ${org_id}, version ${version}. Nodes that have it: ${num_nodes}.`,
    open({ of: 'the definition' }),
    asItem(definition),
    close,
  ].join('\n')
}
