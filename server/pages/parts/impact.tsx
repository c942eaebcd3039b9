/** The edges that a change adds and removes, as a list and a drawing. */

import type { ComponentChildren } from 'preact'
import type { Api } from '../../../spec/client/api.ts'
import { AppError } from '../../base/errors.ts'
import { type Changes, isEdge, readText } from '../text/diff.tsx'
import type { Urls } from '../urls.ts'
import { plural } from './dates.tsx'

interface NodePath {
  readonly org_id: string
  readonly node_id: string
}

/** Maximum edges in the list. */
const most = 24
/** Maximum edges in the drawing. */
const drawn = 6

export interface EdgeChange {
  readonly sign: '+' | '-'
  readonly role: 'parent' | 'connection'
  /** The id of the node at the other end. */
  readonly id: string
  readonly title: string
  readonly type: string
  readonly label: string
}

/** Reads the edges that a commit changes. A modified file counts as a removed and an added edge. */
export async function readImpact(api: Api, path: NodePath, changes: Changes): Promise<EdgeChange[]> {
  const { base_commit_id: base, target_commit_id: target } = changes
  const sides = [
    ...[...changes.removed, ...changes.modified].map(({ entity_key }) => ({
      sign: '-' as const,
      file: entity_key ?? '',
      commit: base,
    })),
    ...[...changes.added, ...changes.modified].map(({ entity_key }) => ({
      sign: '+' as const,
      file: entity_key ?? '',
      commit: target,
    })),
  ].filter(({ file, commit }) => isEdge(file) && commit !== null)
  const edges = await Promise.all(
    sides.slice(0, most).map(async ({ sign, file, commit }) => {
      const text = (await readText(api, path, commit ?? '', file)) ?? '{}'
      return { sign, ...edgeOf(file, text) }
    }),
  )
  const titles = new Map<string, string>()
  for (const id of new Set(edges.map(({ id }) => id))) titles.set(id, await titleOf(api, path.org_id, id))
  return edges.map((edge) => ({ ...edge, title: titles.get(edge.id) ?? edge.id }))
}

function edgeOf(file: string, text: string): Pick<EdgeChange, 'role' | 'id' | 'type' | 'label'> {
  const { target, type, label } = parsed(text)
  const name = /([^/]+)\.json$/.exec(file)?.[1] ?? ''
  const said = typeof label === 'string' ? label : ''
  if (file.startsWith('parents/')) return { role: 'parent', id: name, type: 'child of', label: said }
  const kind = typeof type === 'string' ? type : 'related_to'
  return { role: 'connection', id: typeof target === 'string' ? target : name, type: kind, label: said }
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

/** Returns the title of a node; its id if there is no such node. */
async function titleOf(api: Api, org_id: string, node_id: string): Promise<string> {
  try {
    return (await api.getNode({ path: { org_id, node_id } })).title
  } catch (error) {
    if (error instanceof AppError) return node_id
    throw error
  }
}

interface ImpactProps {
  readonly urls: Urls
  readonly org: string
  readonly title: string
  readonly edges: readonly EdgeChange[]
  /** Shown below the edges. */
  readonly children?: ComponentChildren
}

export function Impact({ urls, org, title, edges, children }: ImpactProps) {
  const come = edges.filter(({ sign }) => sign === '+').length
  const gone = edges.length - come
  const said = [
    ...(come > 0 ? [`${plural(come, 'link')} added`] : []),
    ...(gone > 0 ? [`${gone === edges.length ? plural(gone, 'link') : gone} removed`] : []),
  ].join(', ')
  return (
    <section class="card" id="graph">
      <header>
        <h2>Links that change</h2>
        <span class="r">{said}</span>
      </header>
      {edges.length > 0 && (
        <div class="edges">
          <EdgeList
            edges={edges.map((edge) => ({ ...edge, from: title }))}
            most={most}
            hrefOf={(id, other) => urls.node(org, id, other)}
          />
          <Drawing title={title} edges={edges.slice(0, drawn)} label={said} />
        </div>
      )}
      {children}
    </section>
  )
}

interface EdgeListProps {
  /** `from`: the title of the page that the edge is of. */
  readonly edges: readonly (EdgeChange & { readonly from: string })[]
  /** The maximum that is listed. */
  readonly most: number
  hrefOf(id: string, title: string): string
}

export function EdgeList({ edges, most, hrefOf }: EdgeListProps) {
  return (
    <ul>
      {edges.slice(0, most).map(({ sign, role, id, title: other, type, label, from }) => (
        <li>
          <span class={`sig ${sign === '+' ? 'plus' : 'minus'}`}>{sign === '+' ? '+' : '−'}</span>
          <div>
            <strong>{from}</strong> <span class="type">{verbOf(type, sign)}</span>{' '}
            <a href={hrefOf(id, other)}>
              <strong>{other}</strong>
            </a>
            {label && ` “${label}”`}
            <small>
              {other} {sign === '+' ? 'gains' : 'loses'} {role === 'parent' ? 'a subpage' : 'a backlink'}
            </small>
          </div>
        </li>
      ))}
      {edges.length > most && (
        <li>
          <span />
          <div>and {plural(edges.length - most, 'link')} more</div>
        </li>
      )}
    </ul>
  )
}

/** Returns the words between two titles for a type of edge. */
function verbOf(type: string, sign: EdgeChange['sign']): string {
  const isNow = sign === '+'
  const known: Partial<Record<string, string>> = { links_to: 'links to', embeds: 'embeds', related_to: 'is related to' }
  if (type === 'child of') return isNow ? 'is now under' : 'is no longer under'
  return `${isNow ? 'now' : 'no longer'} ${known[type] ?? type.replaceAll('_', ' ')}`
}

function Drawing({ title, edges, label }: { title: string; edges: readonly EdgeChange[]; label: string }) {
  const row = 44
  const height = Math.max(120, edges.length * row + 40)
  const middle = height / 2
  const first = middle - ((edges.length - 1) * row) / 2
  return (
    <figure>
      <svg viewBox={`0 0 300 ${height}`} width="290" height={height} role="img" aria-label={label}>
        {edges.map(({ sign, title: other }, at) => {
          const y = first + at * row
          return (
            <g class={sign === '+' ? 'come' : 'gone'}>
              <path d={`M64 ${middle} C 110 ${middle} 110 ${y} 156 ${y}`} />
              <circle cx="162" cy={y} r="6" />
              <text x="175" y={y + 4} class="t">
                {short(other, 16)}
              </text>
            </g>
          )
        })}
        <circle cx="56" cy={middle} r="9" class="c" />
        <text x="56" y={middle + 28} text-anchor="middle" class="t b">
          {short(title, 14)}
        </text>
      </svg>
    </figure>
  )
}

function short(name: string, length: number): string {
  const letters = [...name]
  return letters.length <= length
    ? name
    : `${letters
        .slice(0, length - 1)
        .join('')
        .trimEnd()}…`
}
