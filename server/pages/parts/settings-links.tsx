/** The links of a node. Links that it holds can be removed and added. Links that lead to it are shown. */

import * as limits from '../../base/limits.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { asJson } from '../edits.ts'
import { unlessBusy } from './degraded.ts'
import { type Found, findNodes, NodeChoices, NodeSearch } from './node-picker.tsx'
import {
  ActButton,
  type BuildChange,
  FormError,
  Section,
  type Settings,
  SettingsForm,
  typedIn,
} from './settings-section.tsx'

type Connection = AnswerOf<'getNode'>['connections'][number]

/** Types that links often have. */
const types = ['related_to', 'links_to', 'part_of', 'depends_on', 'contradicts', 'supports'] as const
/** Characters of a type. */
const longestType = 64

export interface Links {
  readonly found: Found
  /** The nodes to which the text links. */
  readonly linked: readonly string[]
}

export async function readLinkSettings(settings: Settings): Promise<Links> {
  const { visit, at } = settings
  const links = visit.api.listLinks({ path: at.path, query: { revision: 'main' } }).then((read) => read.links)
  const [found, all] = await Promise.all([
    findNodes(visit, at.org.id, 'target', at.node.id),
    unlessBusy<AnswerOf<'listLinks'>['links']>(links, [], ['too_large']),
  ])
  return { found, linked: all.flatMap(({ node }) => (node === undefined ? [] : [node.id])) }
}

export function LinkSection({ settings, links }: { readonly settings: Settings; readonly links: Links }) {
  const { at } = settings
  const { connections, num_connections } = at.node
  const from = connections.filter(({ source }) => source === at.node.id)
  const to = connections.filter(({ source }) => source !== at.node.id)
  return (
    <Section settings={settings} name="links">
      <h3>From this page</h3>
      {from.length === 0 ? <p class="why">This page has no links.</p> : <Outgoing {...{ settings, links, from }} />}
      <AddLink {...{ settings, links }} />
      <h3>To this page</h3>
      {to.length === 0 ? (
        <p class="why">No page links here.</p>
      ) : (
        <ul class="rows">
          {to.map(({ source, source_title, type, label }) => (
            <li>
              <div>
                <a href={settings.visit.urls.node(at.org.id, source, source_title)}>{source_title}</a>
                <small>{asWords(type, label)}</small>
              </div>
            </li>
          ))}
        </ul>
      )}
      {num_connections > connections.length && <p class="why">and {num_connections - connections.length} more links</p>}
    </Section>
  )
}

interface OutgoingProps {
  readonly settings: Settings
  readonly links: Links
  readonly from: readonly Connection[]
}

function Outgoing({ settings, links, from }: OutgoingProps) {
  const { visit, at } = settings
  return (
    <ul class="rows">
      {from.map(({ id, target, target_title, type, label }) => (
        <li>
          <div>
            <a href={visit.urls.node(at.org.id, target, target_title)}>{target_title || 'A deleted page'}</a>
            <small>
              {asWords(type, label)}
              {isOfText(type) && (links.linked.includes(target) ? ' · in the text' : ' · not in the text')}
            </small>
          </div>
          <SettingsForm settings={settings} name="links" class="plain">
            <input type="hidden" name="link" value={id} />
            <ActButton settings={settings} act="remove-link" label="Remove" of={`the link to ${target_title}`} />
          </SettingsForm>
        </li>
      ))}
    </ul>
  )
}

/** True for the types that links in a text create. */
function isOfText(type: string): boolean {
  return type === 'links_to' || type === 'embeds'
}

function asWords(type: string, label: string): string {
  return [type.replaceAll('_', ' '), label].filter((part) => part !== '').join(' · ')
}

function AddLink({ settings, links: { found } }: { readonly settings: Settings; readonly links: Links }) {
  const { visit, at } = settings
  const typed = typedIn(settings, 'links')
  return (
    <>
      <NodeSearch
        {...{ found }}
        action={visit.urls.nodeSettings(at.org.id, at.node.id, 'links')}
        name="target"
        label="Find a page to link to"
      />
      {found.nodes.length > 0 && (
        <SettingsForm settings={settings} name="links">
          <NodeChoices {...{ found }} name="target" legend="Link to" chosen={visit.form.get('target')} />
          <label>
            Type <small>small letters, digits and _</small>
            <input
              name="type"
              required
              value={typed?.get('type') ?? types[0]}
              pattern="[a-z][a-z0-9_]*"
              maxLength={longestType}
              list="link-types"
              autocomplete="off"
            />
          </label>
          <datalist id="link-types">
            {types.map((type) => (
              <option value={type} />
            ))}
          </datalist>
          <label>
            Label <small>optional</small>
            <input name="label" value={typed?.get('label') ?? ''} maxLength={limits.edgeLabel} autocomplete="off" />
          </label>
          <ActButton settings={settings} act="add-link" label="Add link" isMain />
        </SettingsForm>
      )}
    </>
  )
}

export const removeLink: BuildChange = async ({ visit, at }) => {
  const id = visit.form.get('link') ?? ''
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(id)) throw new FormError('Choose a link.')
  const title = at.node.connections.find((one) => one.id === id)?.target_title ?? id
  return { changes: [{ action: 'delete', path: `connections/${id}.json` }], message: `Remove the link to ${title}` }
}

export const addLink: BuildChange = async ({ visit, at }) => {
  const { form, api } = visit
  const [target, type, label] = ['target', 'type', 'label'].map((name) => (form.get(name) ?? '').trim())
  if (!target) throw new FormError('Choose a page.')
  if (!type || !/^[a-z][a-z0-9_]{0,63}$/.test(type))
    throw new FormError('A type begins with a small letter, and has small letters, digits and _.')
  const { title } = await api.getNode({ path: { org_id: at.org.id, node_id: target } })
  const id = Buffer.from(crypto.getRandomValues(new Uint8Array(9))).toString('base64url')
  const content = asJson({ target, type, ...(label ? { label } : {}) })
  return { changes: [{ action: 'put', path: `connections/${id}.json`, content }], message: `Link to ${title}` }
}
