/** The types of an organisation, and texts of `type` that nobody defined. */

import { AppError } from '../../../base/errors.ts'
import * as limits from '../../../base/limits.ts'
import type { AnswerOf } from '../../../http/in-process.ts'
import { readAsMember, SettingsTabs } from '../../../pages/kit/scene-frames.tsx'
import type { Page, PageContext, PageResult } from '../../../pages/page-context.ts'
import { plural } from '../../../pages/parts/dates.tsx'
import { submitForm, type Trouble, TroubleOf } from '../../../pages/parts/forms.tsx'
import { countOpen, OrgTabs } from '../../../pages/parts/org-tabs.tsx'
import { mayDelete } from '../../../pages/parts/rights.ts'
import type { Urls } from '../../../pages/urls.ts'
import { typeUrl } from './type-settings.tsx'

type Org = AnswerOf<'getOrg'>
type Listed = AnswerOf<'listTypes'>

export function showTypes(visit: PageContext): Promise<Page> {
  return typesPage(visit)
}

export async function takeTypes(visit: PageContext): Promise<PageResult> {
  const { api, form, urls, params } = visit
  if (form.get('act') !== 'unknown') throw new AppError('bad_request', 'The form does not name a known action')
  const path = { org_id: params.org ?? '' }
  return submitForm(
    (trouble) => typesPage(visit, trouble),
    async () => {
      await api.updateOrg({ path, body: { unknown_types: form.has('refuse') ? 'refuse' : 'allow' } })
      return `${urls.settings(path.org_id, 'types')}?saved`
    },
  )
}

async function typesPage(visit: PageContext, trouble?: Trouble): Promise<Page> {
  const { api, urls, query } = visit
  const org = await readAsMember(visit)
  const open = await countOpen(visit, org)
  const listed = await api.listTypes({ path: { org_id: org.id }, query: { limit: limits.types } })
  const mayEdit = mayDelete(org.role)
  return {
    ...{ kind: 'page', place: { org, crumb: 'Settings' } },
    facts: { org, open, listed, trouble },
    head: { title: `Types · ${org.name}`, noIndex: true },
    body: () => (
      <>
        <OrgTabs {...{ urls, org, open }} here="settings" />
        <main id="main" class="page settings type-settings">
          <h1>Types</h1>
          <SettingsTabs urls={urls} org={org.id} here="types" />
          <Said query={query} trouble={trouble} />
          <p class="why">
            A type says which fields and links its pages have. A page has the type that its property “type” names. If a
            type is strict, changes that break its rules are refused. If it is advisory, they are saved, and its
            problems list the pages.
          </p>
          <TroubleOf trouble={trouble} fields={[]} />
          <TypeList {...{ listed, urls, org }} />
          {mayEdit ? (
            <p>
              <a class="btn go" href={urls.typeSettings(org.id, 'new')}>
                New type
              </a>
            </p>
          ) : (
            <p>Only maintainers and owners can change types. Your role: {org.role}.</p>
          )}
          <UndefinedTexts {...{ listed, urls, org, mayEdit }} />
          {org.role === 'owner' && <UnknownTypes org={org} action={urls.settings(org.id, 'types')} />}
        </main>
      </>
    ),
  }
}

function Said({ query, trouble }: { readonly query: URLSearchParams; readonly trouble: Trouble | undefined }) {
  const said = query.has('deleted') ? 'The type was deleted.' : query.has('saved') ? 'Saved.' : undefined
  if (said === undefined || trouble !== undefined) return null
  return (
    <p class="notice" role="status">
      {said}
    </p>
  )
}

interface ListProps {
  readonly listed: Listed
  readonly urls: Urls
  readonly org: Org
}

function TypeList({ listed: { types }, urls, org }: ListProps) {
  if (types.length === 0) return <p>This organisation has no types.</p>
  return (
    <ul class="rows types">
      {types.map(({ name, num_nodes, definition: { title, enforcement } }) => (
        <li>
          <div>
            <a href={typeUrl(urls, org.id, name)}>{title}</a>
            <small>
              <code>{name}</code> · {enforcement === 'strict' ? 'strict' : 'advisory'}
            </small>
          </div>
          <span class="type-links">
            <a href={urls.table(org.id, {}, name)} aria-label={`${plural(num_nodes, 'page')} of ${title}`}>
              {plural(num_nodes, 'page')}
            </a>
            <a href={urls.typeProblems(org.id, name)} aria-label={`Problems of ${title}`}>
              Problems
            </a>
          </span>
        </li>
      ))}
    </ul>
  )
}

/** Texts that pages have as their type, most used first. Some are misspelt names. */
function UndefinedTexts({ listed, urls, org, mayEdit }: ListProps & { readonly mayEdit: boolean }) {
  const texts = Object.entries(listed.undefined ?? {}).sort(([, one], [, other]) => other - one)
  if (texts.length === 0) return null
  return (
    <section>
      <h2>Not defined</h2>
      <p class="why">Pages have these texts as their type, and nobody defined them. Some may be misspelt.</p>
      <ul class="rows types">
        {texts.map(([text, count]) => (
          <li>
            <div>
              <bdi>{text}</bdi>
              <small>{plural(count, 'page')}</small>
            </div>
            {mayEdit && (
              <a
                class="btn"
                href={`${urls.typeSettings(org.id, 'new')}?${new URLSearchParams({ name: text })}`}
                aria-label={`Define the type ${text}`}
              >
                Define
              </a>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}

function UnknownTypes({ org, action }: { readonly org: Org; readonly action: string }) {
  return (
    <section>
      <h2>Other types</h2>
      <form method="post" action={action} class="ask">
        <label class="check">
          <input type="checkbox" name="refuse" checked={org.unknown_types === 'refuse'} />
          <span>Refuse types that nobody defined</span>
        </label>
        <p class="why">A page that has such a type already can still be changed.</p>
        <button type="submit" class="btn" name="act" value="unknown">
          Save rule
        </button>
      </form>
    </section>
  )
}
