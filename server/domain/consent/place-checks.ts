/** Refuses to create, move in, delete and restore pages directly where rules guard their places. */
import { readTitles } from '../../../index/derived/node-queries.ts'
import type { OrgRow } from '../../../index/derived/org-queries.ts'
import { wholeOrg } from '../../../index/derived/sees.ts'
import { AppError } from '../../base/errors.ts'
import { excerpt } from '../../base/excerpt.ts'
import type { Services } from '../services.ts'
import { rulesForAnyNode, rulesOfBranch } from './branch-rules.ts'
import type { HeldRule } from './judge.ts'
import { type PlacedPage, rulesAtPlaces } from './places.ts'
import { type PlaceRefusal, wordPlace } from './wording.ts'

/** A page to change. The title is for the refusal. */
export interface TitledPage extends PlacedPage {
  readonly title: string
}

/** A page that rules guard at one of its places. */
export interface GuardedPage {
  readonly page: TitledPage
  readonly rules: readonly HeldRule[]
}

/**
 * Finds the pages that rules guard at one of their places. Call it under the lock of the change.
 *
 * @param read is called only if the organisation has rules for `main`
 */
export async function findGuarded(
  deps: Services,
  org: OrgRow,
  read: () => Promise<readonly TitledPage[]>,
): Promise<readonly GuardedPage[]> {
  if ((await rulesForAnyNode(deps, org, 'main')).length === 0) return []
  const pages = await read()
  const found = await rulesAtPlaces(deps, org, pages)
  return pages.flatMap((page) => {
    const rules = found.get(page.id) ?? []
    return rules.length === 0 ? [] : [{ page, rules }]
  })
}

/**
 * Refuses a change of pages, unless no rule guards them.
 *
 * @param read as in findGuarded
 * @throws AppError pull_request_required, for the first guarded page
 */
export async function requireFreePlaces(
  deps: Services,
  org: OrgRow,
  read: () => Promise<readonly TitledPage[]>,
): Promise<void> {
  const [first] = await findGuarded(deps, org, read)
  if (first) throw await placeError(deps, org, first)
}

/** True if all its rules let owners override them. */
export function mayOverride({ rules }: GuardedPage): boolean {
  return rules.every(({ rule }) => rule.override === 'owner')
}

/** Returns the error for a guarded page. */
export async function placeError(
  deps: Services,
  org: OrgRow,
  { page, rules }: { readonly page: Omit<TitledPage, 'parents'>; readonly rules: readonly HeldRule[] },
): Promise<AppError> {
  const guarding = page.act === 'change' ? await rulesOfBranch(deps, org, page.id, 'main') : []
  if (guarding.length > 0) return pullRequestRequired('main', guarding)
  const { detail } = await wordRefusal(deps, org, page, rules)
  const facts = { rules: rules.flatMap(({ at }) => at ?? []), change_sets: changeSetsOf(org) }
  return new AppError('pull_request_required', detail, facts)
}

/** @param rules those that hold for the branch */
export function pullRequestRequired(branch: string, rules: readonly HeldRule[]): AppError {
  const where = rules.every(({ rule }) => rule.under !== undefined) ? 'On this node' : 'In this organisation'
  const detail = `${where} \`${excerpt(branch)}\` can only be changed by merging a pull request`
  return new AppError('pull_request_required', detail)
}

/** Words the refusal. Reads the title of the page below which the first rule holds. */
export async function wordRefusal(
  deps: Services,
  org: OrgRow,
  { act, title }: Pick<TitledPage, 'act' | 'title'>,
  [first]: readonly HeldRule[],
): Promise<PlaceRefusal> {
  const under = first?.rule.under
  const known = under === undefined ? undefined : await readTitles(deps.index.read, wholeOrg(org.id), [under])
  const titled = under === undefined ? undefined : (known?.get(under) ?? 'a deleted page')
  return wordPlace(act === 'change' ? 'move' : act, title, titled, changeSetsOf(org))
}

/** The path of the operation that proposes pages. */
export function changeSetsOf({ id }: Pick<OrgRow, 'id'>): string {
  return `/orgs/${id}/change-sets`
}
