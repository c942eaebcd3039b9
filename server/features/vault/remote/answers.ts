/** The answers of a remote Grove that an import reads. */
import { z } from 'zod'
import * as limits from '../../../base/limits.ts'
import { AnswerTooLargeError, type Remote, RemoteError } from '../../../domain/net/remote-grove.ts'
import { guestProperty } from '../plan/inventory.ts'

/** Items of a page: the largest page that a Grove sends. */
const pageItems = 200
/** Limits of one list. */
const [maxItems, maxPages, maxBytes] = [1_000_000, 10_000, 1_024 * 1_048_576]

/** Strings as long as names, titles and paths in a Grove, and longer. */
const line = z.string().max(2_000)
const place = z.string().max(4_096)
const total = z.number()

export const orgSchema = z.object({
  id: z.guid(),
  name: line,
  vault_id: line.optional(),
  role: line.optional(),
})
export const orgsSchema = z.object({ total, orgs: z.array(orgSchema) })

const nodeFields = { id: z.guid(), title: line, properties: z.record(z.string(), z.unknown()) }
export const nodeSchema = z.object({ ...nodeFields, tags: z.array(z.string()), text_content: z.string() })

/** The source properties of a node. */
export interface Origin {
  /** The property `source_path`; null if it is not a path. */
  readonly path: string | null | undefined
  readonly vault: string | null | undefined
}

/** Reads the source from a node's properties. */
export function originOf({ source_path, [guestProperty]: vault }: Readonly<Record<string, unknown>>): Origin {
  const orNull = (schema: z.ZodType<string>, value: unknown) =>
    value === undefined ? undefined : (schema.safeParse(value).data ?? null)
  return { path: orNull(place, source_path), vault: orNull(line, vault) }
}

/** A page of nodes, with the few fields that are kept. */
export const nodesSchema = z.object({
  total,
  nodes: z.array(
    z
      .object({ ...nodeFields, properties_omitted: z.boolean().optional() })
      .transform(({ id, title, properties, properties_omitted = false }) => ({
        ...{ id, title, origin: originOf(properties), isOmitted: properties_omitted },
      })),
  ),
})

/** A page of types, with the fields that an import needs. */
export const typesSchema = z.object({
  total,
  types: z.array(
    z.object({
      ...{ name: line, version: line },
      definition: z.object({
        title: line,
        aliases: z.array(line).exactOptional(),
        connections: z.record(line, z.object({})).exactOptional(),
      }),
    }),
  ),
})

export const treeSchema = z.object({
  total,
  entities: z.array(z.object({ entity_key: place, object_id: line, mode: line })),
})

export const historySchema = z.object({ history: z.array(z.object({ message: z.string() })) })

export const writtenSchema = z.object({
  nodes: z.array(z.object({ id: z.string(), status: z.enum(['created', 'updated', 'unchanged']) })),
})

/** Reads all items of a list, page by page. @throws RemoteError if the list is too long; the errors of Remote.read */
export async function* pagesOf<P extends { readonly total: number }, T extends object>(
  remote: Remote,
  path: string,
  schema: z.ZodType<P>,
  itemsOf: (page: P) => readonly T[],
): AsyncGenerator<T> {
  let limit = pageItems
  let [offset, bytes, kept] = [0, 0, 0]
  for (let pages = 0; ; pages++) {
    if (offset > maxItems) throw tooLong(`${maxItems} items`)
    if (pages > maxPages) throw tooLong(`${maxPages} pages`)
    if (bytes > maxBytes) throw tooLong(`${maxBytes / 1_048_576} MiB`)
    if (kept > limits.importNames) throw tooLong(`${limits.importNames / 1_048_576} MiB of names`)
    const asked = `${path}?limit=${limit}&offset=${offset}`
    const read = await remote.readPage(schema, asked, limits.importPageBytes).catch(orSmaller)
    if (read === undefined) continue
    const items = itemsOf(read.page)
    if (items.length > limit) throw new RemoteError(`${remote.url} does not respond like a Grove service: GET ${asked}`)
    yield* items
    offset += items.length
    bytes += read.bytes
    for (const item of items) kept += lengthOf(item)
    if (items.length === 0 || offset >= read.page.total) return
  }

  /** Returns undefined to request the page again with fewer items. */
  function orSmaller(error: unknown): undefined {
    if (!(error instanceof AnswerTooLargeError) || limit === 1) throw error
    limit = Math.ceil(limit / 4)
  }

  function tooLong(what: string): RemoteError {
    return new RemoteError(`${remote.url}${path} has more than ${what}`)
  }
}

/** Returns the UTF-16 units of the strings of an item. */
function lengthOf(item: object): number {
  let length = 0
  for (const value of Object.values(item)) {
    if (typeof value === 'string') length += value.length
    else if (typeof value === 'object' && value !== null) length += lengthOf(value)
  }
  return length
}
