/** Organisations: tenants, each with a repository of its own. */
import { mkdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { v7 as newId } from 'uuid'
import { syncDirectory } from '../../gitstore/durable.ts'
import { createRepo, moveRepo, unfinished } from '../../gitstore/repos.ts'
import type { Role } from '../../index/derived/schema.ts'
import type { Deps } from '../deps.ts'
import { type OrgRow, orgFor } from './access.ts'
import type { Actor, Person } from './actor.ts'
import { followOrg } from './follow.ts'
import { changeOrg } from './org-changes.ts'
import { commitOrg } from './org-record.ts'
import { type Page, pageOf } from './pages.ts'
import { main, orgFolder, trashFolder } from './places.ts'

export interface Org {
  readonly id: string
  readonly name: string
  readonly published: boolean
  readonly require_pull_requests: boolean
  readonly created_at: string
  readonly updated_at: string
  /** The caller's; absent for the public. */
  readonly role?: Role
}

export interface OrgInput {
  readonly name: string
  readonly published?: boolean
  readonly require_pull_requests?: boolean
}

/** The folder's rename is the commit point: a crash before it leaves nothing, after it the index follows. */
export async function createOrg(deps: Deps, actor: Person, input: OrgInput): Promise<Org> {
  const id = newId()
  const now = deps.now()
  const created_at = now.toISOString()
  const making = join(deps.store.root, `${unfinished}${id}`)
  const record = {
    org: {
      id,
      name: input.name,
      published: input.published ?? false,
      require_pull_requests: input.require_pull_requests ?? false,
      created_at,
    },
    members: new Map([[actor.id, { email: actor.email, name: actor.name, role: 'owner' as const, created_at }]]),
  }
  await mkdir(making)
  await createRepo(
    join(making, 'org.git'),
    async (repo) => new Map([[main, await commitOrg(repo, null, record, actor, now, 'create')]]),
  )
  await rename(making, orgFolder(deps.store, id))
  await syncDirectory(deps.store.root)
  await followOrg(deps, id)
  return readOrg(deps, actor, id)
}

/** The caller's organisations, oldest membership first. */
export async function listOrgs(deps: Deps, actor: Person, page: Page) {
  const mine = deps.index.read
    .selectFrom('org')
    .innerJoin('member', 'member.org_id', 'org.id')
    .where('member.user_id', '=', actor.id)
  const rows = await mine
    .selectAll('org')
    .select(['member.role', 'member.created_at as since'])
    .orderBy('since')
    .orderBy('org.id')
    .limit(page.limit)
    .offset(page.offset)
    .execute()
  const { total } = await mine.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  return { orgs: rows.map((row) => toOrg(row, row.role)), ...pageOf(page, total) }
}

export async function readOrg(deps: Deps, actor: Actor, orgId: string): Promise<Org> {
  const { org, role } = await orgFor(deps, actor, orgId, 'public')
  return toOrg(org, role)
}

export async function updateOrg(deps: Deps, actor: Person, orgId: string, input: Partial<OrgInput>): Promise<Org> {
  await orgFor(deps, actor, orgId, 'owner')
  await changeOrg(deps, orgId, actor, 'edit', (record) => {
    const org = { ...record.org, ...input }
    return JSON.stringify(org) === JSON.stringify(record.org) ? record : { ...record, org }
  })
  return readOrg(deps, actor, orgId)
}

/** Everything goes to the trash in one rename; a commit in flight finds its folder gone. */
export async function deleteOrg(deps: Deps, actor: Person, orgId: string): Promise<void> {
  await orgFor(deps, actor, orgId, 'owner')
  const trash = trashFolder(deps.store)
  await mkdir(trash, { recursive: true })
  await moveRepo(orgFolder(deps.store, orgId), join(trash, `${orgId}.${deps.now().getTime()}`))
  await followOrg(deps, orgId)
}

function toOrg(row: OrgRow, role: Role | null): Org {
  const { id, name, published, require_pull_requests, created_at, updated_at } = row
  return {
    id,
    name,
    published: published === 1,
    require_pull_requests: require_pull_requests === 1,
    created_at,
    updated_at,
    ...(role ? { role } : {}),
  }
}
