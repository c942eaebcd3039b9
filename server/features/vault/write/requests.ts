/** Limits the exports that a service streams, and checks access. */

import { authorizeOrg } from '../../../domain/access.ts'
import { type PersonalRecord, personalRecords } from '../../../domain/accounts/personal-data.ts'
import { callerOf, type Person } from '../../../domain/actor.ts'
import type { ArchiveContent, ArchiveFile } from '../../../domain/archive.ts'
import { audit } from '../../../domain/audit/audit.ts'
import { createCallerSemaphore } from '../../../domain/caller-semaphore.ts'
import { slugOf } from '../../../domain/format/slug.ts'
import { authorizeNodeInOrg } from '../../../domain/indexing/freshness.ts'
import { filterIn } from '../../../domain/search/filter-input.ts'
import { listMatchingIds } from '../../../domain/search/queries.ts'
import type { RequestCtx } from '../../../domain/services.ts'
import type { OrgAt } from '../../../domain/targets.ts'
import { noteName } from '../../../markdown/vault-paths.ts'
import { exportFiles } from './exported-files.ts'

/** Characters after which records continue in another file. */
const charactersOfFile = 1_048_576

/** Limits simultaneous exports of this process. A slow client occupies its slot. */
const semaphore = createCallerSemaphore({
  all: { running: 3, waiting: 32 },
  person: { running: 1, waiting: 4 },
  anonymous: { running: 2, waiting: 16 },
  waitTimeoutMs: 30_000,
  refusal: 'Too many exports are running; try again in a moment',
})

/** The part of the organisation that is exported. Absent members do not restrict it. */
interface ExportPart {
  /** The id of a node. It and its descendants are exported. */
  readonly under?: string | undefined
  /** A filter of nodes in its text form. */
  readonly where?: string | undefined
}

/**
 * Opens an export of the organisation.
 *
 * Its `send` also throws AppError busy, and the errors of listMatchingIds and exportFiles.
 *
 * @throws AppError as authorizeOrg and authorizeNodeInOrg; ValidationError filter_syntax, filter_too_large
 */
export async function openExport(ctx: RequestCtx, at: OrgAt, { under, where }: ExportPart): Promise<ArchiveContent> {
  const access = await authorizeOrg(ctx, at, 'public')
  const { org } = access
  const top = under === undefined ? undefined : (await authorizeNodeInOrg(ctx, access, under, 'public')).node
  const detail = { ...(top && { under: top.id }), ...(where !== undefined && { where }) }
  const filter = where === undefined ? undefined : filterIn(ctx, where, ['query', 'where']).where
  const checkAccess = async () => void (await authorizeOrg(ctx, at, 'public'))
  return {
    name: slugOf(top?.title ?? org.name),
    folder: noteName(top?.title ?? org.name),
    send: (write, { signal }) => {
      const send = async () => {
        await audit(ctx, {
          action: 'org.exported',
          actor: ctx.actor,
          orgId: org.id,
          target: { type: 'org', id: org.id },
          detail,
        })
        const only = filter && (await listMatchingIds(ctx, access, filter))
        return write(
          exportFiles(ctx, access.sees, { signal, checkAccess, ...(top && { under: top.id }), ...(only && { only }) }),
        )
      }
      return semaphore.run({ caller: callerOf(ctx), signal }, send)
    },
  }
}

/** Opens the archive of the caller's own data. Each of its files has records of one source, as JSON lines. */
export function exportMyData(ctx: RequestCtx<Person>): ArchiveContent {
  const name = 'personal-data'
  return {
    ...{ name, folder: name },
    send: (write, { signal }) => {
      const time = Math.floor(ctx.now().getTime() / 1_000)
      return semaphore.run({ caller: callerOf(ctx), signal }, () =>
        write(recordFiles(personalRecords(ctx, ctx.actor), time)),
      )
    },
  }
}

async function* recordFiles(records: AsyncGenerator<PersonalRecord>, time: number): AsyncGenerator<ArchiveFile> {
  const counts = new Map<string, number>()
  let [source, lines] = ['', '']
  const file = (): ArchiveFile => {
    const number = (counts.get(source) ?? 0) + 1
    counts.set(source, number)
    const bytes = Buffer.from(lines)
    lines = ''
    const read = async function* () {
      yield bytes
    }
    return { path: `${source}-${number}.jsonl`, size: bytes.length, time, read }
  }
  for await (const { source: next, record } of records) {
    if (lines !== '' && (next !== source || lines.length > charactersOfFile)) yield file()
    source = next
    lines += `${JSON.stringify(record)}\n`
  }
  yield file()
}
