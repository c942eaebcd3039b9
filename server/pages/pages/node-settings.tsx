/** The settings of a node: move, tags, properties, files, links, deleting. Each section has its own form. */

import { AppError, ValidationError } from '../../base/errors.ts'
import { OvertakenError, proposeUnlessSame, saveChanges } from '../node-changes.ts'
import { type Page, type PageContext, type PageResult, redirect } from '../page-context.ts'
import { ApiId } from '../parts/api-id.tsx'
import { problemOf, RefusedPage } from '../parts/editor-form.tsx'
import { NodePath, readAtNode } from '../parts/node-head.tsx'
import { whatChanged } from '../parts/overtaken.ts'
import { mayDelete, mayPropose, maySave, mayWrite } from '../parts/rights.ts'
import { DeleteSection, deletePage, proposeDeletion } from '../parts/settings-delete.tsx'
import { DuplicateSection, duplicate } from '../parts/settings-duplicate.tsx'
import { addFiles, FileSection, readFiles, removeFile } from '../parts/settings-files.tsx'
import { addLink, LinkSection, readLinkSettings, removeLink } from '../parts/settings-links.tsx'
import { addParent, MoveSection, moveBelow, moveToTop, readMove, removeParent } from '../parts/settings-move.tsx'
import { changeProperties, PropertySection } from '../parts/settings-properties.tsx'
import {
  type BuildChange,
  FormError,
  type Refusal,
  type SectionName,
  type Settings,
  sections,
} from '../parts/settings-section.tsx'
import { changeTags, readSuggestedTags, TagSection } from '../parts/settings-tags.tsx'
import { WhoMerges } from '../parts/who-merges.tsx'
import { intoIn, proposePages } from '../proposing.ts'
import { asSentence } from '../text/broken-rules.ts'
import { HomeNotice, whyHome } from './home-text.tsx'

interface Act {
  readonly section: SectionName
  readonly build: BuildChange
}

/** The changes by the name of their button. */
const acts: Readonly<Record<string, Act>> = {
  move: { section: 'move', build: moveBelow },
  'move-to-top': { section: 'move', build: moveToTop },
  'add-parent': { section: 'move', build: addParent },
  'remove-parent': { section: 'move', build: removeParent },
  tags: { section: 'tags', build: changeTags },
  properties: { section: 'properties', build: changeProperties },
  'add-files': { section: 'files', build: addFiles },
  'remove-file': { section: 'files', build: removeFile },
  'add-link': { section: 'links', build: addLink },
  'remove-link': { section: 'links', build: removeLink },
}

interface WholeAct {
  readonly section: SectionName
  /** Returns the URL that it leads to. */
  readonly act: (settings: Settings) => Promise<string>
}

/** The acts on the whole page. */
const wholeActs: Readonly<Record<string, WholeAct>> = {
  duplicate: { section: 'duplicate', act: duplicate },
  delete: { section: 'delete', act: deletePage },
  'propose-deletion': { section: 'delete', act: proposeDeletion },
}

export async function showNodeSettings(visit: PageContext): Promise<Page> {
  return settingsPage(await readSettings(visit))
}

export async function takeNodeSettings(visit: PageContext): Promise<PageResult> {
  const settings = await readSettings(visit)
  const { api, urls, form } = visit
  const { org, node, path } = settings.at
  const name = form.get('act') ?? ''
  const whole = Object.hasOwn(wholeActs, name) ? wholeActs[name] : undefined
  if (whole !== undefined)
    try {
      return redirect(303, await whole.act(settings))
    } catch (error) {
      return settingsPage({ ...settings, refusal: await refusalOf(settings, whole.section, node.head ?? '', error) })
    }
  const act = Object.hasOwn(acts, name) ? acts[name] : undefined
  if (act === undefined) throw new AppError('bad_request', 'The form does not name a known action')
  const head = headIn(form.get('head') ?? '')
  try {
    const change = await act.build(settings, head)
    const into = intoIn((field) => form.get(field), change.message)
    if (into) {
      const item = { id: node.id, expected_head: head, ...change }
      return redirect(303, urls.inSet(org.id, await proposePages(api, org.id, into, { nodes: [item] }), node.id))
    }
    if (settings.may.save) await saveChanges(api, path, head, change)
    else {
      const from = { head, slug: node.slug, branches: org.branch_prefix }
      const number = await proposeUnlessSame(api, path, from, change)
      if (number !== undefined) return redirect(303, urls.proposal(org.id, node.id, number))
    }
  } catch (error) {
    const refusal = await refusalOf(settings, act.section, head, error)
    return settingsPage({ ...(await readSettings(visit)), refusal })
  }
  return redirect(303, `${urls.nodeSettings(org.id, node.id)}?saved=${act.section}#${act.section}`)
}

/** Reads the head that was shown. @throws AppError bad_request */
function headIn(text: string): string {
  if (!/^[0-9a-f]{40}$/.test(text)) throw new AppError('bad_request', 'The form does not name a valid commit')
  return text
}

async function readSettings(visit: PageContext): Promise<Settings> {
  if (visit.person === undefined) throw new AppError('unauthenticated', 'Sign in to change this page')
  const at = await readAtNode(visit)
  const { role } = at.org
  const may = {
    save: maySave(at.org, at.node),
    create: mayWrite(role),
    // Rules for the pages below a page hold for the page itself.
    delete: mayDelete(role) && at.node.children_need_change_set !== true,
  }
  return { visit, at, may }
}

/** Says why a change was refused. @throws errors that the visitor cannot correct */
async function refusalOf(
  { visit, at }: Settings,
  section: SectionName,
  head: string,
  error: unknown,
): Promise<Refusal> {
  if (error instanceof FormError) return { section, status: 422, trouble: error.trouble }
  if (error instanceof OvertakenError) {
    const says = 'This page has changed since you opened it. Nothing was saved, and your input is still here. Changed:'
    const changes = await whatChanged(visit.api, at.path, head, error)
    return { section, status: 409, trouble: { says }, changes }
  }
  if (error instanceof ValidationError) return { section, status: 422, trouble: { says: brokenRule(error) } }
  if (error instanceof AppError && error.code === 'node_not_found')
    return { section, status: 404, trouble: { says: 'The chosen page does not exist any more. Choose another one.' } }
  const [says, status] = problemOf(error)
  return { section, status, trouble: { says } }
}

/** Words the first problem of the files without their paths. */
function brokenRule(error: ValidationError): string {
  const [first] = error.problems
  const { path, reason } = first?.ctx ?? {}
  if (typeof path !== 'string' || typeof reason !== 'string') return problemOf(error)[0]
  if (path.startsWith('parents/') && /cycle/.test(reason))
    return 'The chosen page is below this page. A page cannot be below its own subpage.'
  if (path.startsWith('parents/') && /own parent/.test(reason)) return 'A page cannot be below itself.'
  if (/There is no node/.test(reason)) return 'The chosen page does not exist any more. Choose another one.'
  return asSentence(reason)
}

async function settingsPage(settings: Settings): Promise<Page> {
  const { visit, at, may, refusal } = settings
  const { urls } = visit
  const { org, node } = at
  const shown = {
    kind: 'page' as const,
    place: { org, node: node.id, crumb: node.title },
    head: { title: `Settings of ${node.title} · ${org.name}`, noIndex: true },
  }
  const back = urls.node(org.id, node.id, node.title)
  const path = <NodePath visit={visit} at={at} />
  if (!mayPropose(org.role)) {
    const body = () => (
      <RefusedPage title={node.title} says="You have read-only access." back={back}>
        {path}
      </RefusedPage>
    )
    return { ...shown, status: 403, facts: { at }, body }
  }
  const parts = node.head === undefined ? undefined : await readSections(settings)
  const isHome = await whyHome(visit.api, org, node)
  return {
    ...shown,
    status: refusal?.status ?? 200,
    facts: { at, may, refusal, parts, isHome },
    body: () => (
      <main id="main" class="page settings node-settings">
        {path}
        <h1>Settings of {node.title}</h1>
        <HomeNotice org={org} why={isHome} />
        <SectionLinks may={may} hasContent={parts !== undefined} />
        {!may.save && (
          <p class="notice">
            You propose changes here, and{' '}
            <WhoMerges urls={urls} org={org} isRuled={node.main_needs_pull_request === true} /> merges them.
          </p>
        )}
        {parts === undefined ? (
          <p>
            This page has no content yet. <a href={urls.edit(org.id, node.id)}>Write a first version</a> before you
            change its settings.
          </p>
        ) : (
          <>
            <MoveSection {...{ settings }} found={parts.move} />
            <TagSection {...{ settings }} suggestions={parts.tags} />
            <PropertySection settings={settings} />
            <FileSection {...{ settings }} files={parts.files} />
            <LinkSection {...{ settings }} links={parts.links} />
          </>
        )}
        {may.create && parts !== undefined && <DuplicateSection settings={settings} />}
        <ApiId id={node.id} of="page" />
        {(may.delete || parts !== undefined) && <DeleteSection settings={settings} />}
      </main>
    ),
  }
}

async function readSections(settings: Settings) {
  const [move, tags, files, links] = await Promise.all([
    readMove(settings),
    readSuggestedTags(settings),
    readFiles(settings),
    readLinkSettings(settings),
  ])
  return { move, tags, files, links }
}

interface SectionLinksProps {
  readonly may: Settings['may']
  readonly hasContent: boolean
}

function SectionLinks({ may, hasContent }: SectionLinksProps) {
  const isShown = (name: SectionName) =>
    (name === 'delete' && may.delete) || (hasContent && (name !== 'duplicate' || may.create))
  return (
    <nav class="section-links" aria-label="Sections">
      {(Object.keys(sections) as SectionName[]).filter(isShown).map((name) => (
        <a href={`#${name}`}>{sections[name]}</a>
      ))}
    </nav>
  )
}
