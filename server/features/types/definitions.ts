/** The types of an organisation in its repository: definitions, their changes and their history. */

import { readFilteredLog } from '../../../gitstore/history/filtered-log.ts'
import { readCommit } from '../../../gitstore/objects/commits.ts'
import { findEntry } from '../../../gitstore/objects/trees.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import { AppError, ValidationError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { recheckAccess } from '../../domain/access.ts'
import type { Person } from '../../domain/actor.ts'
import { readBounded } from '../../domain/branches/large-reads.ts'
import { readOrgTypes } from '../../domain/branches/type-rules.ts'
import { readRecord } from '../../domain/format/org-format.ts'
import { typeFile } from '../../domain/format/paths.ts'
import { timeOf } from '../../domain/format/signatures.ts'
import { main, orgRepo } from '../../domain/layout.ts'
import { commitToOrg } from '../../domain/orgs/org-changes.ts'
import { type Page, pageOf } from '../../domain/pagination.ts'
import type { Ctx, RequestCtx, Services } from '../../domain/services.ts'
import type { TypeAt } from '../../domain/targets.ts'
import { readDefinition, type TypeDefinition } from '../../domain/types/definition.ts'
import type { NodeType, OrgTypes } from '../../domain/types/org-types.ts'
import { commitType, readTypes } from '../../domain/types/stored-types.ts'
import { counted, quote } from '../../domain/types/wording.ts'

/** The type, with all types of its organisation. @throws AppError type_not_found */
export async function requireType(
  deps: Services,
  { org_id: orgId, type_name: name }: TypeAt,
): Promise<{ type: NodeType; types: OrgTypes }> {
  const types = await readOrgTypes(deps, orgId)
  const type = findByName(types, name)
  if (!type) throw typeNotFound(name)
  return { type, types }
}

/** Finds a type by its name, not by an alias. */
function findByName(types: OrgTypes, name: string): NodeType | undefined {
  return types.types.find((type) => type.name === name)
}

/** Reads the definition of a request. @throws ValidationError at `body.definition` */
export function requireDefinition(json: unknown): TypeDefinition {
  const read = readDefinition(json)
  if ('definition' in read) return read.definition
  throw new ValidationError(
    read.faults.map(({ place, msg, type }) => ({ loc: ['body', 'definition', ...place], msg, type })),
  )
}

/** A change of a type. A definition of null deletes it. */
export interface StoredChange {
  readonly definition: TypeDefinition | null
  /** The version that must be there. Null: the type must not exist. Undefined: any. */
  readonly expected: string | null | undefined
}

/**
 * Changes a type by one commit of org.git, or by none if nothing changes.
 *
 * @throws AppError type_not_found (a deletion), version_moved, too_many_types, forbidden; errors of commitToOrg
 * @throws ValidationError another type has an alias
 */
export async function changeType(
  ctx: Ctx<Person>,
  { org_id: orgId, type_name: name }: TypeAt,
  { definition, expected }: StoredChange,
): Promise<void> {
  const repo = orgRepo(ctx.store, orgId)
  await commitToOrg(ctx, ctx.actor, { org_id: orgId }, async (draft, head) => {
    await recheckAccess(ctx, orgId, 'maintainer')
    const { org } = await readRecord(repo, head)
    const { types, files } = await readTypes(repo, head, org.unknown_types === 'refuse')
    const known = findByName(types, name)
    if (definition === null && !known) throw typeNotFound(name)
    requireVersion(name, known?.version ?? null, expected)
    if (definition !== null) {
      if (!known && files >= limits.types) throw tooManyTypes()
      requireFreeNames(types, name, definition)
    }
    if (known && JSON.stringify(known.definition) === JSON.stringify(definition)) return head
    const message = definition === null ? `delete type ${name}` : `type ${name}`
    return commitType(draft, head, { name, definition }, ctx.actor, ctx.now(), message)
  })
}

/** Lists the commits that changed a type, newest first. @throws AppError type_not_found; errors of readFilteredLog */
export async function readHistory(ctx: RequestCtx, { org_id: orgId, type_name: name }: TypeAt, page: Page) {
  const repo = orgRepo(ctx.store, orgId)
  const head = readRef(repo, main)
  if (head === null) throw typeNotFound(name)
  const path = typeFile(name)
  const { total, oids } = await readFilteredLog(repo, head, { path }, page, (walk) =>
    readBounded(ctx, 'The history of the organisation is too long to search', walk),
  )
  if (total === 0) throw typeNotFound(name)
  const history = []
  for (const oid of oids) history.push(await readVersion(repo, oid, path))
  return { history, ...pageOf(page, total) }
}

async function readVersion(repo: Parameters<typeof readCommit>[0], commit: Oid, path: string) {
  const { tree, message, author } = await readCommit(repo, commit)
  const version = (await findEntry(repo, tree, path))?.oid ?? null
  return { commit, version, message: message.trimEnd(), author: author.name, created_at: timeOf(author) }
}

function requireVersion(name: string, version: string | null, expected: string | null | undefined): void {
  if (expected === undefined || expected === version) return
  const now = version === null ? 'does not exist' : `has the version ${version}`
  const detail = `The type ${quote(name)} has changed since you read it, and now ${now}; nothing was changed`
  throw new AppError('version_moved', detail, { current_version: version })
}

function requireFreeNames(types: OrgTypes, name: string, { aliases = [] }: TypeDefinition): void {
  const others = [name, ...aliases].map((alias) => types.aliasProblem(name, alias))
  const problems = others.flatMap((msg, n) =>
    msg === undefined
      ? []
      : [
          {
            loc: n === 0 ? ['path', 'type_name'] : ['body', 'definition', 'aliases', n - 1],
            msg,
            type: 'value_error' as const,
          },
        ],
  )
  if (problems.length > 0) throw new ValidationError(problems)
}

function typeNotFound(name: string): AppError {
  return new AppError('type_not_found', `The organisation has no type ${quote(name)}`)
}

function tooManyTypes(): AppError {
  const detail = `The organisation has ${counted(limits.types, 'type')}, which is the limit; delete one first`
  return new AppError('too_many_types', detail)
}
