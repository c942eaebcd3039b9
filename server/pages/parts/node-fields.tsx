/** The fields of a typed page: values by their kinds, connections and problems. */

import type { ComponentChildren } from 'preact'
import type { AnswerOf } from '../../http/in-process.ts'
import { connectionsOf, fieldsOf, keyOfProblem, type SaidProblem, sayProblem } from '../text/type-labels.ts'
import type { Urls } from '../urls.ts'
import { cut } from './chips.tsx'
import { FieldValue } from './field-value.tsx'
import { linksOf, PropertyRows, shownProperties } from './property-list.tsx'
import { Said } from './type-problems.tsx'
import type { LinkedPage, TypedNode } from './typed-node.ts'

type Node = AnswerOf<'getNode'>
type Problem = Node['type_problems'][number]

/** Pages of a connection that are shown. */
const mostPages = 50

/** The form for the fields of a node. */
export function fieldsUrl(urls: Urls, org: string, node: string): string {
  return `${urls.node(org, node)}/fields`
}

interface ListProps {
  readonly urls: Urls
  readonly node: Node
  readonly typed: TypedNode
  /** True if the visitor sees what is wrong with the page. */
  readonly seesProblems: boolean
  /** Shown after the fields. */
  readonly children?: ComponentChildren
}

export function NodeFields({ urls, node, typed: { type, inverse }, seesProblems, children }: ListProps) {
  const { definition } = type
  const fields = fieldsOf(definition)
  const connections = connectionsOf(definition)
  const problems = problemsBy(seesProblems ? node.type_problems : [])
  // The page has the description below its title.
  const values = new Map(shownProperties(node.properties))
  const others = [...values].filter(([name]) => name !== 'type' && !fields.some((field) => field.name === name))
  const own = [
    ...fields.map(({ name }) => `properties/${name}`),
    ...connections.map(({ name }) => `connections/${name}`),
    ...others.map(([name]) => `properties/${name}`),
  ]
  const rest = [...problems].flatMap(([key, some]) => (own.includes(key) ? [] : some))
  const linkOf = linksOf(urls, node)
  const say = (key: string) => (problems.get(key) ?? []).map((problem) => sayProblem(definition, problem))
  return (
    <section class="properties typed" aria-label="Fields">
      <dl>
        <div>
          <dt>Type</dt>
          <dd>
            <a href={urls.table(node.org_id, {}, type.name)}>
              <bdi>{definition.title}</bdi>
            </a>
          </dd>
        </div>
        {fields.map(({ name, label, schema }) => (
          <FieldRow label={label} problems={say(`properties/${name}`)} isEmpty={isEmpty(values.get(name))}>
            <FieldValue schema={schema} value={values.get(name)} linkOf={linkOf} />
          </FieldRow>
        ))}
        {connections.map(({ name, label }) => {
          const pages = node.connections
            .filter(({ source, type: of }) => source === node.id && of === name)
            .map(({ target, target_title }) => ({ id: target, title: target_title }))
          return (
            <FieldRow label={label} problems={say(`connections/${name}`)} isEmpty={pages.length === 0}>
              <LinkedPages {...{ urls, pages }} org={node.org_id} />
            </FieldRow>
          )
        })}
        {inverse.map(({ label, pages }) => (
          <FieldRow label={label} problems={[]} isEmpty={false}>
            <LinkedPages {...{ urls, pages }} org={node.org_id} />
          </FieldRow>
        ))}
      </dl>
      <OtherProblems problems={rest.map((problem) => sayProblem(definition, problem))} />
      {others.length > 0 && (
        <details open={others.some(([name]) => problems.has(`properties/${name}`))}>
          <summary>Other properties ({others.length.toLocaleString('en')})</summary>
          <PropertyRows of={others} linkOf={linkOf} />
          <OtherProblems problems={others.flatMap(([name]) => say(`properties/${name}`))} />
        </details>
      )}
      {children}
    </section>
  )
}

/** Groups problems by the field or the connection that they are shown at. */
function problemsBy(problems: readonly Problem[]): Map<string, Problem[]> {
  const all = new Map<string, Problem[]>()
  for (const problem of problems) {
    const key = keyOfProblem(problem)
    all.set(key, [...(all.get(key) ?? []), problem])
  }
  return all
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0)
}

interface RowProps {
  readonly label: string
  readonly problems: readonly SaidProblem[]
  readonly isEmpty: boolean
  readonly children: ComponentChildren
}

/** A field with a value or a problem. */
function FieldRow({ label, problems, isEmpty, children }: RowProps) {
  if (isEmpty && problems.length === 0) return null
  return (
    <div>
      <dt>
        <bdi>{cut(label)}</bdi>
      </dt>
      <dd>
        {isEmpty ? <span class="why">empty</span> : children}
        {problems.map((problem) => (
          <p class="broken">
            <Said problem={problem} />
          </p>
        ))}
      </dd>
    </div>
  )
}

function OtherProblems({ problems }: { readonly problems: readonly SaidProblem[] }) {
  return (
    <>
      {problems.map((problem) => (
        <p class="broken">
          <Said problem={problem} />
        </p>
      ))}
    </>
  )
}

interface PagesProps {
  readonly urls: Urls
  readonly org: string
  readonly pages: readonly LinkedPage[]
}

function LinkedPages({ urls, org, pages }: PagesProps) {
  return (
    <>
      {pages.slice(0, mostPages).map(({ id, title }, at) => (
        <>
          {at > 0 && ', '}
          {title === '' ? (
            <span class="why">a deleted page</span>
          ) : (
            <a href={urls.node(org, id, title)}>
              <bdi>{title}</bdi>
            </a>
          )}
        </>
      ))}
      {pages.length > mostPages && ` and ${(pages.length - mostPages).toLocaleString('en')} more`}
    </>
  )
}
