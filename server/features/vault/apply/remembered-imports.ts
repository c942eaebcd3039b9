/**
 * Remembers imports that found everything unchanged.
 *
 * There is one file per organisation in `imports/` of the data folder. If the files and the organisation have the same
 * state again, an import knows its result without reading them. The files in `imports/` may be deleted at any time.
 */
import { join } from 'node:path'
import { z } from 'zod'
import { makeFolder, replaceFile } from '../../../../gitstore/durable.ts'
import { readRef } from '../../../../gitstore/refs/refs.ts'
import { readRegular } from '../../../../gitstore/regular-files.ts'
import { findOrgState } from '../../../../index/derived/org-queries.ts'
import { parseJson } from '../../../domain/format/json-text.ts'
import { asJson } from '../../../domain/format/signatures.ts'
import { importsFolder, main, orgRepo } from '../../../domain/layout.ts'
import type { Services } from '../../../domain/services.ts'

const rememberedSchema = z.object({
  /** The state of the folder, from folderState. */
  folder: z.string(),
  /** The state of the organisation, from stateOfOrg. */
  org: z.string(),
  /** The summary of the import. */
  lines: z.array(z.string()),
})

export type RememberedImport = z.infer<typeof rememberedSchema>

/** Largest file in bytes. A longer summary is not remembered. */
const mostBytes = 1_048_576

/** Returns a string that changes with the organisation and its nodes. */
export async function stateOfOrg({ index, store }: Services, orgId: string): Promise<string | undefined> {
  const row = await findOrgState(index.read, orgId)
  // The types of the organisation decide about connections.
  return row && `${row.epoch} ${row.version} ${readRef(orgRepo(store, orgId), main)}`
}

/** Reads the last remembered import; undefined if it is missing or damaged. @throws system errors */
export async function findRememberedImport({ store }: Services, orgId: string): Promise<RememberedImport | undefined> {
  const bytes = await readRegular(fileOf(store.root, orgId), mostBytes)
  if (bytes === undefined || typeof bytes === 'string') return undefined
  return rememberedSchema.safeParse(parseJson(bytes.toString())).data
}

/** @throws GitError storage_* */
export async function rememberImport({ store }: Services, orgId: string, remembered: RememberedImport): Promise<void> {
  const text = asJson(remembered)
  if (text.length > mostBytes) return
  await makeFolder(importsFolder(store.root))
  await replaceFile(fileOf(store.root, orgId), text)
}

function fileOf(root: string, orgId: string): string {
  return join(importsFolder(root), `${orgId}.json`)
}
