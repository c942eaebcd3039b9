/** `manifest.json` of a backup. Written last: everything it names exists, is checked and durable. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import { replaceFile } from '../../../gitstore/durable.ts'
import { openRegular, readRegular } from '../../../gitstore/regular-files.ts'
import { isOid } from '../../../gitstore/repo.ts'
import { asJson } from '../format/signatures.ts'

const manifestSchema = z.object({
  format: z.literal(1, 'this version does not know its format'),
  /** ISO 8601 in UTC. */
  created_at: z.string(),
  credentials: z.object({ sha256: z.string() }).optional(),
  repositories: z.array(
    z.object({
      path: z.string(),
      /** By full name, and their objects. */
      refs: z.record(z.string(), z.string().refine(isOid)),
      /** When git last found the mirror sound, ISO 8601 in UTC, and its state at that time, as stateOf says it. */
      checked: z.object({ at: z.string(), state: z.string() }).optional(),
      /** Of the index, before the repository was read: while it has the same, no ref has moved. */
      stamp: z.number().optional(),
    }),
  ),
  /** Mirrors of repositories deleted before the backup; `restore` skips them. */
  gone: z.array(z.string()),
})

export type Manifest = z.infer<typeof manifestSchema>

export type MirrorEntry = Manifest['repositories'][number]

export const manifestFile = 'manifest.json'

/** Bytes: a million refs. */
const manifestLimitBytes = 128 * 1_048_576

export async function writeManifest(dir: string, manifest: Manifest): Promise<void> {
  await replaceFile(join(dir, manifestFile), asJson(manifest))
}

/** The manifest of a backup folder; neither field if there is none. `damage`: why it cannot be used. @throws system errors */
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

/** SHA-256 in hexadecimal; undefined if there is no such file. @throws Error if it is not a regular file; system errors */
export async function hashOfFile(file: string): Promise<string | undefined> {
  const opened = await openRegular(file)
  if (opened === undefined) return undefined
  if (typeof opened === 'string') throw new Error(`${file} ${opened}`)
  const hash = createHash('sha256')
  await pipeline(opened.createReadStream(), hash)
  return hash.digest('hex')
}
