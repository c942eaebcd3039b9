/** What a Grove answers, as far as an import reads it. */
import { z } from 'zod'
import { type Remote, RemoteFault } from './client.ts'

/** Of a page: the most that is answered. */
const pageItems = 200
/** Of one list. */
const maxItems = 1_000_000

const total = z.number()

export const orgSchema = z.object({
  id: z.guid(),
  name: z.string(),
  vault_id: z.string().optional(),
  role: z.string().optional(),
})
export const orgsSchema = z.object({ total, orgs: z.array(orgSchema) })

const nodeFields = { id: z.guid(), title: z.string(), properties: z.record(z.string(), z.unknown()) }
export const nodesSchema = z.object({
  total,
  nodes: z.array(z.object({ ...nodeFields, properties_omitted: z.boolean().optional() })),
})
export const nodeSchema = z.object({ ...nodeFields, tags: z.array(z.string()), text_content: z.string() })

export const treeSchema = z.object({
  total,
  entities: z.array(z.object({ entity_key: z.string(), object_id: z.string(), mode: z.string() })),
})

export const historySchema = z.object({ history: z.array(z.object({ message: z.string() })) })

export const writtenSchema = z.object({
  nodes: z.array(z.object({ id: z.string(), status: z.enum(['created', 'updated', 'unchanged']) })),
})

/** All items of a list, page by page. @throws as Remote.read; RemoteFault: more than 1,000,000 */
export async function* pagesOf<P extends { readonly total: number }, T>(
  remote: Remote,
  path: string,
  schema: z.ZodType<P>,
  itemsOf: (page: P) => readonly T[],
): AsyncGenerator<T> {
  for (let offset = 0; ; ) {
    const page = await remote.read(schema, 'GET', `${path}?limit=${pageItems}&offset=${offset}`)
    const items = itemsOf(page)
    yield* items
    offset += items.length
    if (items.length === 0 || offset >= page.total) return
    if (offset > maxItems) throw new RemoteFault(`${remote.url}${path} has more than ${maxItems} items`)
  }
}
