/** `org.git`: the organisation and its members as files, read and written (contract §6). */
import { readCommit } from '../../gitstore/commits.ts'
import { openDraft } from '../../gitstore/draft.ts'
import { readBlob } from '../../gitstore/objects.ts'
import type { Oid, Repo } from '../../gitstore/repo.ts'
import { applyChanges, listFiles } from '../../gitstore/trees.ts'
import type { Role } from '../../index/derived/schema.ts'
import type { Person } from './actor.ts'
import { asJson, laterOf, signature, timeOf } from './authors.ts'

/** `org.json`. */
interface OrgFile {
  readonly id: string
  readonly name: string
  readonly published: boolean
  readonly require_pull_requests: boolean
  readonly created_at: string
}

/** `members/<user id>.json`. */
interface MemberFile {
  readonly email: string
  readonly name: string
  readonly role: Role
  readonly created_at: string
}

export interface OrgRecord {
  readonly org: OrgFile
  /** By user id. */
  readonly members: ReadonlyMap<string, MemberFile>
}

/** The organisation as columns of the index. */
export async function readOrgRecord(repo: Repo, head: Oid) {
  const { org, members } = await readRecord(repo, head)
  const { committer } = await readCommit(repo, head)
  return {
    org: {
      ...org,
      published: Number(org.published),
      require_pull_requests: Number(org.require_pull_requests),
      updated_at: laterOf(timeOf(committer), org.created_at),
    },
    members: [...members].map(([user_id, member]) => ({ user_id, ...member })),
  }
}

/** Writes what `record` says as the next commit of a draft on `repo`, saved. */
export async function commitOrg(
  repo: Repo,
  before: Oid | null,
  record: OrgRecord,
  by: Person,
  at: Date,
  message: string,
): Promise<Oid> {
  const draft = openDraft(repo)
  const wanted = new Map([['org.json', await draft.blob(asJson(record.org))]])
  for (const [id, member] of record.members) wanted.set(`members/${id}.json`, await draft.blob(asJson(member)))
  const tree = before === null ? null : (await readCommit(repo, before)).tree
  const gone = tree === null ? [] : (await listFiles(repo, tree)).filter((file) => !wanted.has(file.path))
  const changes = [
    ...[...wanted].map(([path, blob]) => ({ path, blob })),
    ...gone.map(({ path }) => ({ path, blob: null })),
  ]
  const person = signature(by, at)
  const parents = before === null ? [] : [before]
  const oid = await draft.commit({
    tree: await applyChanges(draft, tree, changes),
    parents,
    author: person,
    committer: person,
    message,
  })
  await draft.save()
  return oid
}

export async function readRecord(repo: Repo, head: Oid): Promise<OrgRecord> {
  const members = new Map<string, MemberFile>()
  let org: OrgFile | undefined
  for (const { path, oid } of await listFiles(repo, (await readCommit(repo, head)).tree)) {
    const id = /^members\/([0-9a-f-]{36})\.json$/.exec(path)?.[1]
    if (path !== 'org.json' && !id) continue
    const json: unknown = JSON.parse((await readBlob(repo, oid)).toString())
    if (id)
      members.set(id, json as MemberFile) // org.git is written by this file alone
    else org = json as OrgFile // the same
  }
  if (!org) throw new Error('org.git has no org.json')
  return { org, members }
}
