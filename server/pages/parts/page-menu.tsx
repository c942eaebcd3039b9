/** The menu of a page: all that the visitor may do with it. It opens without script. */

import { assetName } from '../assets.ts'
import type { PageContext } from '../page-context.ts'
import { type Follow, FollowButtons } from './follow-button.tsx'
import { Icon } from './icons.tsx'
import { mayDelete, mayEdit, mayPropose, mayWrite } from './rights.ts'
import { type SectionName, sections } from './settings-section.tsx'

interface MenuProps {
  readonly visit: PageContext
  readonly node: {
    readonly org_id: string
    readonly id: string
    readonly title: string
    readonly slug: string
    readonly head?: string
  }
  readonly role: string | undefined
  /** False if the text is too long for the editor. */
  readonly opensEditor: boolean
  /** The branch, tag or commit that is shown. */
  readonly revision: string
  /** The file with the text; undefined without one. */
  readonly textPath: string | undefined
  /** Undefined: the visitor cannot follow it. */
  readonly follow: Follow | undefined
}

export function PageMenu({ visit, node, role, opensEditor, revision, textPath, follow }: MenuProps) {
  const { urls } = visit
  const { org_id, id, title, slug, head } = node
  const isMain = revision === 'main'
  const section = (name: SectionName) => <a href={urls.nodeSettings(org_id, id, name)}>{sections[name]}</a>
  return (
    <details class="menu page-menu">
      <summary class="btn small" aria-label="More actions">
        <Icon name="more" size={16} />
      </summary>
      <div class="menu-items">
        {isMain && mayEdit(role, head) && head !== undefined && (
          <div>
            {opensEditor && <a href={urls.edit(org_id, id)}>Rename</a>}
            {section('move')}
            {section('tags')}
            {section('properties')}
            {section('files')}
            {section('links')}
            {mayWrite(role) && section('duplicate')}
          </div>
        )}
        <div>
          <button type="button" hidden data-copy-link={urls.absolute(urls.node(org_id, id, title))}>
            Copy link
          </button>
          {textPath !== undefined && (
            <a href={urls.raw(org_id, id, revision, textPath)} download={`${slug || 'page'}.md`}>
              Download Markdown
            </a>
          )}
          {isMain && <a href={urls.export(org_id, id)}>Download with subpages</a>}
          {head !== undefined && <a href={urls.history(org_id, id, revision)}>History</a>}
          {isMain && role !== undefined && <a href={urls.nodeActivity(org_id, id)}>Activity</a>}
        </div>
        {isMain && follow !== undefined && (
          <div>
            <FollowButtons {...{ visit, follow }} org={org_id} node={id} />
          </div>
        )}
        {isMain && (mayDelete(role) || (mayPropose(role) && head !== undefined)) && <div>{section('delete')}</div>}
      </div>
      <script type="module" src={urls.asset(assetName('menu.js'))} />
    </details>
  )
}
