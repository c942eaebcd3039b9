/** The pages of a type: as a table, and those that break its rules. */

import type { AnswerOf } from '../../../http/in-process.ts'
import { type Page, type PageContext, param } from '../../../pages/page-context.ts'
import { tablePage } from '../../../pages/pages/table.tsx'
import { plural } from '../../../pages/parts/dates.tsx'
import { unlessBusy } from '../../../pages/parts/degraded.ts'
import { fieldsUrl } from '../../../pages/parts/node-fields.tsx'
import { countOpen, OrgTabs } from '../../../pages/parts/org-tabs.tsx'
import { Pages, pageOffset } from '../../../pages/parts/paging.tsx'
import { mayPropose } from '../../../pages/parts/rights.ts'
import { pluralOf } from '../../../pages/parts/type-links.tsx'
import { ProblemList } from '../../../pages/parts/type-problems.tsx'
import type { Urls } from '../../../pages/urls.ts'
import { typeUrl } from './type-settings.tsx'

type Org = AnswerOf<'getOrg'>
type NodeType = AnswerOf<'getType'>
type Broken = AnswerOf<'listTypeProblems'>['problems'][number]

/** Pages with problems on a page. */
const pageSize = 50

export async function showTypeTable(visit: PageContext): Promise<Page> {
  const { urls } = visit
  const { path, org, type } = await readType(visit)
  const problems = org.role === undefined ? undefined : await unlessBusy(countProblems(visit, path), undefined)
  return tablePage(visit, {
    ...{ org, type, title: pluralOf(type), facts: problems },
    above: <TypeHead {...{ urls, org, type, problems }} />,
  })
}

export async function showTypeProblems(visit: PageContext): Promise<Page> {
  const { api, urls, query } = visit
  const { path, org, type } = await readType(visit)
  const offset = pageOffset(query.get('from'))
  const [{ problems, total }, open] = await Promise.all([
    api.listTypeProblems({ path, query: { limit: pageSize, offset } }),
    countOpen(visit, org),
  ])
  const title = `Problems of ${pluralOf(type)}`
  return {
    ...{ kind: 'page', facts: { org, type, problems, total, open }, place: { org, crumb: title } },
    head: { title: `${title} · ${org.name}`, noIndex: true },
    body: () => (
      <>
        <OrgTabs {...{ urls, org, open }} here="table" />
        <main id="main" class="wide type-problems">
          <nav class="path" aria-label="Path to this page">
            <a href={urls.table(org.id, {}, type.name)}>{pluralOf(type)}</a>
          </nav>
          <h1>{title}</h1>
          <p class="why said" role="status">
            {saidOf(total, type)}
          </p>
          {problems.length > 0 && (
            <ul class="broken-pages">
              {problems.map((node) => (
                <BrokenRow {...{ urls, org, type, node }} />
              ))}
            </ul>
          )}
          <Pages
            base={problemsUrl(urls, org.id, type.name)}
            size={pageSize}
            names={['Previous', 'Next']}
            {...{ offset, total }}
          />
        </main>
      </>
    ),
  }
}

async function readType(visit: PageContext) {
  const path = { org_id: param(visit, 'org'), type_name: param(visit, 'type') }
  const org = await visit.api.getOrg({ path })
  return { path, org, type: await visit.api.getType({ path }) }
}

async function countProblems(
  { api }: PageContext,
  path: { readonly org_id: string; readonly type_name: string },
): Promise<number> {
  return (await api.listTypeProblems({ path, query: { limit: 1 } })).total
}

function saidOf(total: number, { definition }: NodeType): string {
  if (total === 0) return 'Every page of this type follows its rules.'
  const many = `${plural(total, 'page')} ${total === 1 ? 'breaks' : 'break'} rules of this type.`
  return definition.enforcement === 'strict'
    ? `${many} A page may keep its problems, but new ones are refused.`
    : `${many} The type is advisory, so such pages can be saved.`
}

interface RowProps {
  readonly urls: Urls
  readonly org: Org
  readonly type: NodeType
  readonly node: Broken
}

function BrokenRow({ urls, org, type, node: { node_id, title, problems } }: RowProps) {
  return (
    <li>
      <div>
        <a href={urls.node(org.id, node_id, title)}>
          <bdi>{title}</bdi>
        </a>{' '}
        {mayPropose(org.role) && (
          <a href={fieldsUrl(urls, org.id, node_id)} aria-label={`Edit fields of ${title}`}>
            Edit fields
          </a>
        )}
        <ProblemList definition={type.definition} problems={problems} />
      </div>
    </li>
  )
}

interface HeadProps {
  readonly urls: Urls
  readonly org: Pick<Org, 'id' | 'role'>
  readonly type: NodeType
  /** The number of pages that break rules of the type. Undefined if it is not known. */
  readonly problems: number | undefined
}

/** Leads from the pages of a type to its other pages. */
function TypeHead({ urls, org: { id, role }, type, problems = 0 }: HeadProps) {
  const { name, definition } = type
  return (
    <p class="type-head">
      <a href={urls.table(id)}>All pages</a>
      {problems > 0 && (
        <a class="broken" href={problemsUrl(urls, id, name)}>
          {plural(problems, 'page')} with problems
        </a>
      )}
      {role !== undefined && <a href={typeUrl(urls, id, name)}>Settings of this type</a>}
      {mayPropose(role) && (
        <a class="btn small go" href={urls.newNode(id, { type: name })}>
          {`New ${inSentence(definition.title)}`}
        </a>
      )}
    </p>
  )
}

/** The list of the pages that break rules of their type. */
function problemsUrl(urls: Urls, org: string, type: string): string {
  return `${urls.table(org, {}, type)}/problems`
}

/** Returns a title as it is inside a sentence. Abbreviations keep their capitals. */
function inSentence(title: string): string {
  return /^\p{Lu}(?!\p{Lu})/u.test(title) ? title.charAt(0).toLowerCase() + title.slice(1) : title
}
