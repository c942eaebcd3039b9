/** The general settings of an organisation, and the page that creates one. */

import { AppError, invalid } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { line, text } from '../kit/controls.tsx'
import { Section } from '../kit/parts.tsx'
import { orgFrame, sheetFrame } from '../kit/scene-frames.tsx'
import { act, settings } from '../kit/settings.tsx'
import { type PageContext, param } from '../page-context.ts'
import { ApiId } from '../parts/api-id.tsx'
import { chooseMeaning, MeaningChoice, meaningFacts } from '../parts/meaning-choice.tsx'
import { mayDelete, mayWrite } from '../parts/rights.ts'
import { proposalsOnly } from '../parts/rule-form.tsx'
import { sizeOf } from '../text/sizes.ts'
import type { Urls } from '../urls.ts'
import { chooseHome, HomeSection, readHomeChoice } from './home-text.tsx'

type Org = AnswerOf<'getOrg'>

const names = {
  name: line('Name', { most: limits.displayName }),
  description: text('Description', 'a few words about it', limits.orgDescription),
}

export const newOrgPage = settings({
  frame: sheetFrame,
  title: 'New organisation',
  why: 'An organisation contains pages and has members. Only members can read it until you publish it.',
  async read({ person }) {
    if (person === undefined) throw new AppError('unauthenticated', 'Sign in to create an organisation')
  },
  acts: {
    create: act('Create organisation', names, async ({ api, urls }, body) => {
      const { id, name } = await api.createOrg({ body })
      return urls.org(id, name)
    }),
  },
  view: (_, { form }) => form('create'),
})

type Change = Parameters<PageContext['api']['updateOrg']>[0]['body']
const pathOf = (visit: PageContext) => ({ org_id: param(visit, 'org') })
const change = (visit: PageContext, body: Change) => visit.api.updateOrg({ path: pathOf(visit), body })
const saved = 'Saved.'

export const generalPage = settings({
  frame: orgFrame('general'),
  title: 'Settings',
  says: { describe: saved, publish: saved, unpublish: saved, rules: saved, embeddings: saved, home: saved },
  read: async (visit, { org }) => ({
    usage: org.usage,
    meaning: meaningFacts(visit, org),
    home: await readHomeChoice(visit, org),
  }),
  acts: {
    describe: act('Save', names, change),
    publish: act('Publish', {}, (visit) => change(visit, { published: true }), 'go'),
    unpublish: act('Unpublish', {}, (visit) => change(visit, { published: false }), 'stop'),
    rules: act('Save rule', { require_pull_requests: proposalsOnly }, change, 'plain'),
    embeddings: chooseMeaning,
    home: chooseHome,
    delete: act(
      'Delete organisation',
      { repeated: line('Type its name to confirm', { most: limits.displayName }) },
      async (visit, { repeated }) => {
        const path = pathOf(visit)
        if (repeated !== (await visit.api.getOrg({ path })).name)
          throw invalid(['body', 'repeated'], 'This is not the name of the organisation. Nothing was deleted')
        await visit.api.deleteOrg({ path })
        return visit.urls.home()
      },
      'stop',
    ),
  },
  view: ({ meaning, home }, { form, ask, visit: { urls }, action }, { org }) => {
    const isOwner = org.role === 'owner'
    const { name, description, require_pull_requests } = org
    const url = urls.absolute(urls.org(org.id))
    return (
      <>
        {!isOwner && <p>Only owners can change these settings. Your role: {org.role}.</p>}
        {isOwner && (
          <>
            {form('describe', { values: { name, description } })}
            <Section title="Visibility">
              {org.published ? (
                <>
                  <p>Published: anyone can read it, without an account, at</p>
                  <p class="copy">
                    <a href={urls.org(org.id)}>{url}</a>
                  </p>
                </>
              ) : (
                <p>Only members can read it.</p>
              )}
              {org.published
                ? ask(
                    'unpublish',
                    'Only members will be able to read it, starting immediately. The feed and the sitemap disappear. Clones that exist stay as they are.',
                  )
                : ask(
                    'publish',
                    `Anyone will be able to read, search and clone all its pages, with the full history of main and all tags. This includes the names and e-mail addresses of the authors. The URL will be ${url}`,
                  )}
            </Section>
            <Section
              title="Changes"
              why={
                <>
                  A new page is published at once, unless a rule is for it. The{' '}
                  <a href={urls.settings(org.id, 'rules')}>rules</a> say who else must agree. A change must satisfy all
                  rules that match it.
                </>
              }
            >
              {form('rules', { values: { require_pull_requests } })}
            </Section>
            <MeaningChoice org={org} facts={meaning} form={(fill) => form('embeddings', fill)} />
          </>
        )}
        <UsageOf org={org} />
        <HomeSection {...{ action, home, isOwner }} form={(fill) => form('home', fill)} />
        <ApiId id={org.id} of="organisation" />
        <FolderLinks org={org} urls={urls} />
        {mayDelete(org.role) && <TrashLink org={org} urls={urls} />}
        {isOwner && (
          <Section title="Delete this organisation">
            {ask(
              'delete',
              `Everyone, including members, loses access immediately. The operator can restore the repositories from the trash until they are purged, usually after 30 days. Its name is ${name}.`,
            )}
          </Section>
        )}
      </>
    )
  },
})

function UsageOf({ org: { usage } }: { readonly org: Org }) {
  if (usage === undefined) return null
  const { nodes, bytes, max_nodes: maxNodes, max_bytes: maxBytes } = usage
  const pages = nodes === 1 ? '1 page' : `${nodes.toLocaleString('en')} pages`
  const ofPages = maxNodes === undefined ? '' : ` of at most ${maxNodes.toLocaleString('en')}`
  const ofBytes = maxBytes === undefined ? '' : ` of at most ${sizeOf(maxBytes)}`
  return (
    <Section title="Usage">
      <p>
        {pages}
        {ofPages} and {sizeOf(bytes)}
        {ofBytes}, with all versions and the deleted pages in the trash.
      </p>
    </Section>
  )
}

function FolderLinks({ org, urls }: { readonly org: Org; readonly urls: Urls }) {
  return (
    <Section title="Import and export">
      <p>Download all pages as a folder of Markdown. A folder or .zip of Markdown can be imported at any time.</p>
      <p class="import-acts">
        {mayWrite(org.role) && (
          <a class="btn" href={urls.import(org.id)}>
            Import
          </a>
        )}
        <a class="btn" href={urls.export(org.id)}>
          Export
        </a>
      </p>
    </Section>
  )
}

function TrashLink({ org, urls }: { readonly org: Org; readonly urls: Urls }) {
  return (
    <Section title="Trash">
      <p>Deleted pages are kept for a while, and can be restored.</p>
      <p>
        <a class="btn" href={urls.trash(org.id)}>
          Open the trash
        </a>
      </p>
    </Section>
  )
}
