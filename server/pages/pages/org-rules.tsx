/** The rules of an organisation: what proposals need before they are merged. */

import type { VNode } from 'preact'
import { AppError } from '../../base/errors.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { hidden, readBody } from '../kit/controls.tsx'
import { More } from '../kit/parts.tsx'
import { orgFrame } from '../kit/scene-frames.tsx'
import { act, settings } from '../kit/settings.tsx'
import { type PageContext, param } from '../page-context.ts'
import { plural } from '../parts/dates.tsx'
import { field } from '../parts/forms.tsx'
import { type HeldUp, HeldUpLine, readHeldUp } from '../parts/held-up.tsx'
import { readCreations } from '../parts/rule-creations.ts'
import {
  fieldsOf,
  findMembers,
  keyOfRule,
  newRule,
  type RuleFields,
  ruleIn,
  throwAtField,
  usersIn,
} from '../parts/rule-fields.ts'
import { editorsMay, ruleControls } from '../parts/rule-form.tsx'
import { describeRule, pageAndBelow, type Rule, type RuleNames } from '../text/rule-words.ts'
import type { Urls } from '../urls.ts'

type Org = AnswerOf<'getOrg'>
type Members = Awaited<ReturnType<typeof findMembers>>

/** Pages that a search for a title shows. */
const mostFound = 20

export const rulesPage = settings({
  frame: orgFrame('rules'),
  title: 'Rules',
  says: { save: 'Saved.', remove: 'Saved.' },
  why: 'A rule says who must agree before a change is published. A change must satisfy all rules that match it. Pages are also created, moved, deleted and restored by proposals, unless a rule is only for existing pages.',
  async read(visit, { org }) {
    const { rules = [] } = org
    const ids = rules.flatMap(({ by, checks }) => [...(by.people ?? []), ...checks.flatMap(({ from }) => from ?? [])])
    const members = await findMembers(visit, org.id, new Set(ids))
    const draft = org.role === 'owner' ? await draftOf(visit, org, members) : undefined
    const nodes = new Set([...rules.flatMap(({ under }) => under ?? []), draft?.fields.under ?? ''])
    const titles = await Promise.all([...nodes].map(async (id) => [id, await titleOf(visit, org.id, id)] as const))
    return { members, draft, titles, heldUp: await readHeldUp(visit, org), created: await readCreations(visit, org) }
  },
  acts: {
    save: act('Save rule', ruleControls, saveRule),
    find: act('Search', ruleControls, async () => <></>),
    free: act('Leave new pages free', { rule: hidden }, freeNewPages, 'plain'),
    remove: act(
      'Remove',
      { rule: hidden },
      async (visit, { rule }) => {
        const path = { org_id: param(visit, 'org') }
        const { rules = [] } = await visit.api.getOrg({ path })
        await visit.api.updateOrg({ path, body: { rules: rules.filter((one) => keyOfRule(one) !== rule) } })
      },
      'stop',
    ),
  },
  view: ({ members, draft, titles, heldUp, created }, { form, ask, visit: { urls }, action }, { org }) => {
    const pages = new Map(titles.flatMap(([id, title]) => (title === undefined ? [] : [[id, title] as const])))
    const names = { users: new Map(members.map(({ user_id, name }) => [user_id, name])), pages }
    const isOwner = org.role === 'owner'
    return (
      <>
        <RuleList
          {...{ org, urls, names, heldUp, created }}
          free={(rule) => isOwner && form('free', { values: { rule: keyOfRule(rule) }, of: ruleName(rule) })}
        >
          {(rule) =>
            isOwner &&
            ask(
              'remove',
              'Proposals then no longer need this. Branches without another rule can be changed directly.',
              {
                ...{ values: { rule: keyOfRule(rule) }, of: ruleName(rule) },
              },
            )
          }
        </RuleList>
        {!isOwner && <p>Only owners can change these rules. Your role: {org.role}.</p>}
        {draft && (
          <section id="rule" class="rule-form" aria-labelledby="rule-title">
            <h2 id="rule-title">{draft.fields.rule === 'new' ? 'Add a rule' : 'Change the rule'}</h2>
            {draft.found?.length === 0 && <p>No page has a title like “{draft.fields.under_words}”.</p>}
            <p>Who must agree?</p>
            {form('save', { at: 'rule', values: draft.fields, options: { under: choicesOf(draft, pages) } })}
            <p>
              <a class="btn quiet" href={action}>
                Cancel
              </a>
            </p>
          </section>
        )}
        <More title="Rules for branches, tags and ids">
          <p class="why">
            If the rule of a new branch asks for approvals or checks, it begins at a commit of main. It may also begin
            at one of another branch whose rules are as strict. If this organisation is published and a rule holds for
            main, visitors see only tags of commits on main. While a rule holds for main, no new page gets the id of a
            deleted one.
          </p>
        </More>
        {isOwner && draft === undefined && (
          <p>
            <a class="btn" href="?rule=new#rule">
              Add a rule
            </a>
          </p>
        )}
      </>
    )
  },
})

const ruleName = ({ branches }: Rule) => `the rule for ${branches.join(', ')}`

/** Makes the rule one for existing pages. Does nothing if it was changed or removed in the meantime. */
async function freeNewPages(visit: PageContext, { rule: key }: { readonly rule: string }): Promise<void> {
  const path = { org_id: param(visit, 'org') }
  const { rules = [] } = await visit.api.getOrg({ path })
  const changed = rules.map((one) => (keyOfRule(one) === key ? { ...one, pages: 'existing' as const } : one))
  await visit.api.updateOrg({ path, body: { rules: changed } })
}

/** Saves the rule of the form. @throws AppError version_moved: the rule that it changes is no longer there */
async function saveRule(visit: PageContext, fields: RuleFields): Promise<void> {
  const path = { org_id: param(visit, 'org') }
  const rule = ruleIn(fields, await findMembers(visit, path.org_id, usersIn(fields)))
  const { rules = [] } = await visit.api.getOrg({ path })
  const [key, written] = [fields.rule, keyOfRule(rule)]
  const has = (wanted: string) => rules.some((one) => keyOfRule(one) === wanted)
  // If another place of the list has it, the form was sent twice, or the change makes a second one.
  const isThere = written !== key && has(written)
  if (!isThere && key !== 'new' && !has(key))
    throw new AppError(
      'version_moved',
      'This rule was changed or removed since you opened it. If you save again, yours is added as a new rule',
    )
  const replaced = key === 'new' ? [...rules, rule] : rules.map((one) => (keyOfRule(one) === key ? rule : one))
  const changed = isThere ? rules.filter((one) => keyOfRule(one) !== key) : replaced
  await visit.api.updateOrg({ path, body: { rules: changed } }).catch(throwAtField)
}

async function titleOf({ api }: PageContext, org_id: string, node_id: string): Promise<string | undefined> {
  try {
    return (await api.getNode({ path: { org_id, node_id } })).title
  } catch (error) {
    if (error instanceof AppError && error.code === 'node_not_found') return undefined
    throw error
  }
}

/** A rule that is being written. */
interface Draft {
  readonly fields: RuleFields
  /** The pages that have the title. Undefined: none was searched. */
  readonly found?: AnswerOf<'suggestTitles'>['suggestions']
}

/** Returns the form to show: the one that was sent, or that of the link. Undefined without one. */
async function draftOf(
  { api, query, form }: PageContext,
  { id, rules = [] }: Org,
  members: Members,
): Promise<Draft | undefined> {
  const find = (key: string | null) => rules.find((one) => keyOfRule(one) === key)
  if (!['find', 'save'].includes(field(form, 'act'))) {
    const key = query.get('rule')
    const rule = find(key)
    if (rule) return { fields: fieldsOf(rule, members) }
    return key === 'new' ? { fields: newRule } : undefined
  }
  const { under, ...sent } = readBody(ruleControls, form)
  const fields = { ...sent, rule: find(sent.rule) ? sent.rule : 'new' }
  const words = fields.under_words
  if (words === '') return { fields: { ...fields, ...(under !== undefined && { under }) } }
  const asked = { path: { org_id: id }, query: { q: words.slice(0, 500), limit: mostFound } }
  const { suggestions: found } = await api.suggestTitles(asked)
  // After a search, the page must be chosen from its results.
  const chosen = field(form, 'act') === 'save' ? under : found.length === 1 ? found[0]?.node_id : undefined
  return { fields: { ...fields, ...(chosen !== undefined && { under: chosen }) }, found }
}

/** Returns the pages to choose from: the chosen one and those that were found. */
function choicesOf({ fields: { under }, found = [] }: Draft, pages: ReadonlyMap<string, string>) {
  const known = found.map(({ node_id, title }) => [node_id, title] as const)
  const own =
    !under || known.some(([id]) => id === under) ? [] : [[under, pages.get(under) ?? 'A deleted page'] as const]
  return [...own, ...known].map(([id, title]) => [id, pageAndBelow(title)] as const)
}

interface ListProps {
  readonly org: Org
  readonly urls: Urls
  readonly names: RuleNames
  readonly heldUp: HeldUp
  /** Pages that were created lately at the place of each rule. */
  readonly created: readonly number[]
  /** The act that makes a rule one for existing pages. */
  readonly free: (rule: Rule) => VNode | false
  /** The act that removes a rule. */
  readonly children: (rule: Rule) => VNode | false
}

function RuleList({ org, urls, names, heldUp, created, free, children }: ListProps) {
  const { rules = [] } = org
  const [, verb, says] = editorsMay[org.require_pull_requests ? 1 : 0]
  return (
    <>
      <ul class="rows rules">
        <li>
          <div>
            Editors {verb.toLowerCase()}. {says}
            <small>
              <a href={urls.settings(org.id, 'general')}>May editors publish, or only propose?</a>
            </small>
          </div>
        </li>
        {rules.map((rule, at) => (
          <li>
            <div>
              {describeRule(rule, names)}
              {rule.under !== undefined && !names.pages.has(rule.under) && (
                <small>The page was deleted, so this rule holds for nothing.</small>
              )}
              <HeldUpLine urls={urls} org={org.id} pulls={heldUp.byRule[at] ?? []} />
              {(created[at] ?? 0) > 0 && (
                <small>
                  In the last 30 days, {plural(created[at] ?? 0, 'page was', 'pages were')} created here without a
                  proposal. Now this rule demands one.
                </small>
              )}
            </div>
            {(created[at] ?? 0) > 0 && free(rule)}
            {org.role === 'owner' && (
              <a class="btn" href={`?rule=${keyOfRule(rule)}#rule`} aria-label={`Change ${ruleName(rule)}`}>
                Change
              </a>
            )}
            {children(rule)}
          </li>
        ))}
      </ul>
      {rules.length === 0 && <p>There are no other rules.</p>}
      {heldUp.unread > 0 && <p class="why">{plural(heldUp.unread, 'older open proposal')} were not checked.</p>}
    </>
  )
}
