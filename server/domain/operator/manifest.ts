/** The `manifest.json` of a backup. It is written last, so everything it names exists, checked and durable. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import { replaceFile } from '../../../gitstore/durable.ts'
import { openRegular, readRegular } from '../../../gitstore/regular-files.ts'
import { isOid } from '../../../gitstore/repo.ts'
import { asJson } from '../format/signatures.ts'

const manifestSchema = z.object({
  format: z.literal(1, 'this version of Grove does not know the format'),
  /** ISO 8601 in UTC. */
  created_at: z.string(),
  credentials: z.object({ sha256: z.string() }).optional(),
  events: z.object({ sha256: z.string() }).optional(),
  vectors: z.object({ sha256: z.string() }).optional(),
  repositories: z.array(
    z.object({
      path: z.string(),
      /** Object ids by full name. */
      refs: z.record(z.string(), z.string().refine(isOid)),
      /** The last time that git found the mirror intact, and its state then. ISO 8601 in UTC; from `stateOf`. */
      checked: z.object({ at: z.string(), state: z.string() }).optional(),
      /** The index's stamp before the repository was read. While it stays the same, no ref has moved. */
      stamp: z.number().optional(),
    }),
  ),
  /** Mirrors of repositories deleted before the backup; `restore` skips them. */
  gone: z.array(z.string()),
})

export type Manifest = z.infer<typeof manifestSchema>

export type MirrorEntry = Manifest['repositories'][number]

export const manifestFile = 'manifest.json'

/** Bytes, enough for a million refs. */
const manifestLimitBytes = 128 * 1_048_576

export async function writeManifest(dir: string, manifest: Manifest): Promise<void> {
  await replaceFile(join(dir, manifestFile), asJson(manifest))
}

/** Reads a backup's manifest, if there is one. `damage`: the reason why it cannot be used. @throws system errors */
export async function readManifest(dir: string): Promise<{ manifest?: Manifest; damage?: string }> {
  const bytes = await readRegular(join(dir, manifestFile), manifestLimitBytes)
  if (bytes === undefined) return {}
  if (typeof bytes === 'string') return { damage: bytes }
  try {
    const { success, data, error } = manifestSchema.safeParse(JSON.parse(bytes.toString()))
    if (success) return { manifest: data }
    const [issue] = error.issues
    return { damage: [...(issue?.path ?? []), issue?.message].join(': ') }
  } catch (error) {
    if (error instanceof SyntaxError) return { damage: error.message }
    throw error
  }
}

/** Returns the SHA-256 in hexadecimal, if the file exists. @throws Error if it is not a regular file; system errors */
export async function hashOfFile(file: string): Promise<string | undefined> {
  const opened = await openRegular(file)
  if (opened === undefined) return undefined
  if (typeof opened === 'string') throw new Error(`${file} ${opened}`)
  const hash = createHash('sha256')
  await pipeline(opened.createReadStream(), hash)
  return hash.digest('hex')
}
