/** The types of an organisation, and texts of `type` that nobody defined. */

import * as limits from '../../../base/limits.ts'
import type { AnswerOf } from '../../../http/in-process.ts'
import { check } from '../../../pages/kit/controls.tsx'
import { Empty } from '../../../pages/kit/empty.tsx'
import { Row, Rows, Section } from '../../../pages/kit/parts.tsx'
import { orgFrame } from '../../../pages/kit/scene-frames.tsx'
import { act, settings } from '../../../pages/kit/settings.tsx'
import { param } from '../../../pages/page-context.ts'
import { plural } from '../../../pages/parts/dates.tsx'
import { mayDelete } from '../../../pages/parts/rights.ts'
import type { Urls } from '../../../pages/urls.ts'
import { typeUrl } from './type-settings.tsx'

type Org = AnswerOf<'getOrg'>
type Listed = AnswerOf<'listTypes'>

export const typesPage = settings({
  frame: orgFrame('types'),
  title: 'Types',
  says: { unknown: 'Saved.', deleted: 'The type was deleted.' },
  why: 'A type says which fields and links its pages have. A page has the type that its property “type” names. If a type is strict, changes that break its rules are refused. If it is advisory, they are saved, and its problems list the pages.',
  read: ({ api }, { org }) => api.listTypes({ path: { org_id: org.id }, query: { limit: limits.types } }),
  acts: {
    unknown: act(
      'Save rule',
      { refuse: check('Refuse types that nobody defined') },
      (visit, { refuse }) =>
        visit.api.updateOrg({
          path: { org_id: param(visit, 'org') },
          body: { unknown_types: refuse ? 'refuse' : 'allow' },
        }),
      'plain',
    ),
  },
  view: (listed, { form, visit: { urls } }, { org }) => {
    const mayEdit = mayDelete(org.role)
    const begin = mayEdit && (
      <p>
        <a class="btn go" href={urls.typeSettings(org.id, 'new')}>
          New type
        </a>
      </p>
    )
    return (
      <>
        {listed.types.length === 0 ? (
          <Empty example="types" begin={begin}>
            Each page of a type “Recipe”, for example, can have these fields and links.
          </Empty>
        ) : (
          <>
            <TypeList {...{ listed, urls, org }} />
            {begin}
          </>
        )}
        {!mayEdit && <p>Only maintainers and owners can change types. Your role: {org.role}.</p>}
        <UndefinedTexts {...{ listed, urls, org, mayEdit }} />
        {org.role === 'owner' && (
          <Section title="Other types" why="A page that has such a type already can still be changed.">
            {form('unknown', { values: { refuse: org.unknown_types === 'refuse' } })}
          </Section>
        )}
      </>
    )
  },
})

interface ListProps {
  readonly listed: Listed
  readonly urls: Urls
  readonly org: Org
}

function TypeList({ listed: { types }, urls, org }: ListProps) {
  return (
    <Rows of={types}>
      {({ name, num_nodes, definition: { title, enforcement } }) => (
        <Row
          title={<a href={typeUrl(urls, org.id, name)}>{title}</a>}
          facts={
            <>
              <code>{name}</code> · {enforcement === 'strict' ? 'strict' : 'advisory'}
            </>
          }
        >
          <span class="type-links">
            <a href={urls.table(org.id, {}, name)} aria-label={`${plural(num_nodes, 'page')} of ${title}`}>
              {plural(num_nodes, 'page')}
            </a>
            <a href={urls.typeProblems(org.id, name)} aria-label={`Problems of ${title}`}>
              Problems
            </a>
          </span>
        </Row>
      )}
    </Rows>
  )
}

/** Texts that pages have as their type, most used first. Some are misspelt names. */
function UndefinedTexts({ listed, urls, org, mayEdit }: ListProps & { readonly mayEdit: boolean }) {
  const texts = Object.entries(listed.undefined ?? {}).sort(([, one], [, other]) => other - one)
  if (texts.length === 0) return null
  return (
    <Section
      title="Not defined"
      why="Pages have these texts as their type, and nobody defined them. Some may be misspelt."
    >
      <Rows of={texts}>
        {([text, count]) => (
          <Row title={<bdi>{text}</bdi>} facts={plural(count, 'page')}>
            {mayEdit && (
              <a
                class="btn"
                href={`${urls.typeSettings(org.id, 'new')}?${new URLSearchParams({ name: text })}`}
                aria-label={`Define the type ${text}`}
              >
                Define
              </a>
            )}
          </Row>
        )}
      </Rows>
    </Section>
  )
}
