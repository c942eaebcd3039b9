/** The rules of an organisation: what proposals need before they are merged. */

import type { ComponentChildren } from 'preact'
import { AppError } from '../../base/errors.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { readAsMember, SettingsTabs } from '../kit/scene-frames.tsx'
import { type Page, type PageContext, type PageResult, redirect } from '../page-context.ts'
import { plural } from '../parts/dates.tsx'
import { field, showFormErrors, type Trouble, TroubleOf } from '../parts/forms.tsx'
import { type HeldUp, HeldUpLine, readHeldUp } from '../parts/held-up.tsx'
import { countOpen, OrgTabs } from '../parts/org-tabs.tsx'
import {
  fieldsIn,
  fieldsOf,
  findMembers,
  keyOfRule,
  newRule,
  type RuleFields,
  ruleIn,
  throwAtField,
  usersIn,
} from '../parts/rule-fields.ts'
import { type Draft, RuleForm, ruleFields } from '../parts/rule-form.tsx'
import { describeRule, type Rule, type RuleNames } from '../text/rule-words.ts'
import type { Urls } from '../urls.ts'

type Org = AnswerOf<'getOrg'>

/** Pages that a search for a title shows. */
const mostFound = 20

export function showRules(visit: PageContext): Promise<Page> {
  return rulesPage(visit)
}

export async function takeRules(visit: PageContext): Promise<PageResult> {
  const { form } = visit
  const fields = form.get('act') === 'remove' ? undefined : fieldsIn(form)
  const sent = fields && { key: field(form, 'rule'), fields }
  switch (form.get('act')) {
    case 'find':
      return rulesPage(visit, { sent: sent && { ...sent, fields: { ...sent.fields, under: keptUnder(sent.fields) } } })
    case 'save':
    case 'remove':
      break
    default:
      throw new AppError('bad_request', 'The form does not name a known action')
  }
  const org = await readAsMember(visit)
  try {
    if (sent === undefined) await removeRule(visit, org)
    else if (!(await saveRule(visit, org, sent.fields)))
      return { ...(await rulesPage(visit, { sent: { ...sent, key: 'new' }, trouble: goneRule })), status: 409 }
    return redirect(303, `${visit.urls.settings(org.id, 'rules')}?saved`)
  } catch (error) {
    return showFormErrors(error, (trouble) => rulesPage(visit, { sent, trouble }))
  }
}

const goneRule: Trouble = {
  says: 'This rule was changed or removed since you opened it. If you save again, yours is added as a new rule.',
}

/** After a search, the page must be chosen from its results. Without words, the choice stays. */
function keptUnder({ under, words }: RuleFields): string | null {
  return words === '' ? under : null
}

/** Saves the rule of the form. Returns false if the rule that it changes is no longer there. */
async function saveRule(visit: PageContext, org: Org, fields: RuleFields): Promise<boolean> {
  const { api, form } = visit
  const members = await findMembers(visit, org.id, usersIn(fields))
  const isPageChosen = fields.words === '' || fields.words === field(form, 'under_found')
  const rule = ruleIn(fields, members, isPageChosen)
  const rules = org.rules ?? []
  const [key, written] = [field(form, 'rule'), keyOfRule(rule)]
  const has = (wanted: string) => rules.some((one) => keyOfRule(one) === wanted)
  // If another place of the list has it, the form was sent twice, or the change makes a second one.
  const isThere = written !== key && has(written)
  if (!isThere && key !== 'new' && !has(key)) return false
  const replaced = key === 'new' ? [...rules, rule] : rules.map((one) => (keyOfRule(one) === key ? rule : one))
  const changed = isThere ? rules.filter((one) => keyOfRule(one) !== key) : replaced
  await api.updateOrg({ path: { org_id: org.id }, body: { rules: changed } }).catch(throwAtField)
  return true
}

async function removeRule({ api, form }: PageContext, org: Org): Promise<void> {
  const rules = org.rules ?? []
  const kept = rules.filter((one) => keyOfRule(one) !== field(form, 'rule'))
  await api.updateOrg({ path: { org_id: org.id }, body: { rules: kept } })
}

interface More {
  /** The form as it was sent. */
  readonly sent?: Omit<Draft, 'found'> | undefined
  readonly trouble?: Trouble
}

async function rulesPage(visit: PageContext, { sent, trouble }: More = {}): Promise<Page> {
  const { urls, query } = visit
  const org = await readAsMember(visit)
  const [open, read] = [await countOpen(visit, org), await readNames(visit, org, sent?.fields)]
  const draft = org.role === 'owner' ? await draftOf(visit, org, read, sent) : undefined
  const heldUp = await readHeldUp(visit, org)
  return {
    ...{ kind: 'page', place: { org, crumb: 'Settings' } },
    facts: { org, open, users: [...read.users], pages: [...read.pages], heldUp, draft, trouble },
    head: { title: `Rules · ${org.name}`, noIndex: true },
    body: () => (
      <>
        <OrgTabs {...{ urls, org, open }} here="settings" />
        <main id="main" class="page settings">
          <h1>Rules</h1>
          <SettingsTabs urls={urls} org={org.id} here="rules" />
          {query.has('saved') && trouble === undefined && <p class="notice">Saved.</p>}
          <TroubleOf trouble={trouble} fields={draft ? ruleFields : []} />
          <p class="why">
            A rule says what a proposal needs before it is merged into a branch. Branches with a rule change only by
            proposals. All rules that match a branch hold together.
          </p>
          <p class="why">
            If the rule of a new branch asks for approvals or checks, it begins at a commit of main. It may also begin
            at one of another branch whose rules are as strict. If this organisation is published and a rule holds for
            main, visitors see only tags of commits on main. While a rule holds for main, no new page gets the id of a
            deleted one.
          </p>
          <RuleList org={org} urls={urls} names={read} heldUp={heldUp} />
          {org.role !== 'owner' && <p>Only owners can change these rules. Your role: {org.role}.</p>}
          {draft && <RuleForm {...{ draft, urls, trouble }} org={org.id} titles={read.pages} />}
          {org.role === 'owner' && draft === undefined && (
            <p>
              <a class="btn" href="?rule=new#rule">
                Add a rule
              </a>
            </p>
          )}
        </main>
      </>
    ),
  }
}

type Read = RuleNames & { readonly members: Awaited<ReturnType<typeof findMembers>> }

/** Reads the members and pages that the rules and the form name. */
async function readNames(visit: PageContext, { id, rules = [] }: Org, fields: RuleFields | undefined): Promise<Read> {
  const users = new Set(
    rules.flatMap(({ by, checks }) => [...(by.people ?? []), ...checks.flatMap(({ from }) => from ?? [])]),
  )
  const members = await findMembers(visit, id, users)
  const pages = new Map<string, string>()
  const nodes = [...rules.flatMap(({ under }) => under ?? []), ...(fields?.under ? [fields.under] : [])]
  for (const node of new Set(nodes)) {
    const title = await titleOf(visit, id, node)
    if (title !== undefined) pages.set(node, title)
  }
  return { members, users: new Map(members.map(({ user_id, name }) => [user_id, name])), pages }
}

async function titleOf({ api }: PageContext, org_id: string, node_id: string): Promise<string | undefined> {
  try {
    return (await api.getNode({ path: { org_id, node_id } })).title
  } catch (error) {
    if (error instanceof AppError && error.code === 'node_not_found') return undefined
    throw error
  }
}

/** Returns the form to show: the one that was sent, or that of the link. Undefined without one. */
async function draftOf(
  { api, query }: PageContext,
  { id, rules = [] }: Org,
  { members }: Read,
  sent: More['sent'],
): Promise<Draft | undefined> {
  if (sent !== undefined) {
    const { words } = sent.fields
    if (words === '') return { ...sent, found: undefined }
    const path = { org_id: id }
    const { suggestions } = await api.suggestTitles({ path, query: { q: words.slice(0, 500), limit: mostFound } })
    return { ...sent, found: suggestions.map(({ node_id, title }) => ({ node_id, title })) }
  }
  const key = query.get('rule')
  if (key === null) return undefined
  const rule = rules.find((one) => keyOfRule(one) === key)
  if (rule) return { key, fields: fieldsOf(rule, members), found: undefined }
  return key === 'new' ? { key, fields: newRule, found: undefined } : undefined
}

interface ListProps {
  readonly org: Org
  readonly urls: Urls
  readonly names: RuleNames
  readonly heldUp: HeldUp
}

function RuleList({ org, urls, names, heldUp }: ListProps) {
  const { rules = [], require_pull_requests } = org
  if (rules.length === 0 && !require_pull_requests) return <p>There are no rules.</p>
  return (
    <>
      <ul class="rows rules">
        {require_pull_requests && (
          <li>
            <div>
              {describeRule(proposalsOnly, names)}
              <small>
                Set in the <a href={urls.settings(org.id, 'general')}>general settings</a>.
              </small>
            </div>
          </li>
        )}
        {rules.map((rule, at) => (
          <RuleItem rule={rule} org={org} urls={urls} names={names}>
            <HeldUpLine urls={urls} org={org.id} pulls={heldUp.byRule[at] ?? []} />
          </RuleItem>
        ))}
      </ul>
      {heldUp.unread > 0 && <p class="why">{plural(heldUp.unread, 'older open proposal')} were not checked.</p>}
    </>
  )
}

/** The rule that `require_pull_requests` sets. */
const proposalsOnly: Rule = {
  ...{ branches: ['main'], approvals: 0, by: { role: 'editor' }, keep: 'same_change' },
  ...{ checks: [], resolved: false, merge: 'maintainer', override: 'owner' },
}

interface ItemProps {
  readonly rule: Rule
  readonly org: Org
  readonly urls: Urls
  readonly names: RuleNames
  readonly children: ComponentChildren
}

/** One rule: its sentence, notes below it, and its acts. */
function RuleItem({ rule, org, urls, names, children }: ItemProps) {
  const key = keyOfRule(rule)
  const isGone = rule.under !== undefined && !names.pages.has(rule.under)
  return (
    <li>
      <div>
        {describeRule(rule, names)}
        {isGone && <small>The page was deleted, so this rule holds for nothing.</small>}
        {children}
      </div>
      {org.role === 'owner' && (
        <>
          <a class="btn" href={`?rule=${key}#rule`} aria-label={`Change the rule for ${rule.branches.join(', ')}`}>
            Change
          </a>
          <details>
            <summary class="btn stop" aria-label={`Remove the rule for ${rule.branches.join(', ')}…`}>
              Remove…
            </summary>
            <form method="post" action={urls.settings(org.id, 'rules')} class="ask">
              <input type="hidden" name="rule" value={key} />
              <p>Proposals then no longer need this. Branches without another rule can be changed directly.</p>
              <button class="btn stop" type="submit" name="act" value="remove">
                Remove rule
              </button>
            </form>
          </details>
        </>
      )}
    </li>
  )
}
