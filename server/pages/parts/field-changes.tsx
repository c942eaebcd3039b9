/** A table of the properties that a proposal changes, with the labels of the type. */

import type { Api } from '../../../spec/client/api.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import type { FileChange } from '../text/diff.tsx'
import { type FieldSchema, fieldsOf } from '../text/type-labels.ts'
import { cut } from './chips.tsx'
import { unlessBusy } from './degraded.ts'
import { FieldValue } from './field-value.tsx'

type Node = AnswerOf<'getNode'>

/** Properties that are shown. */
const mostRows = 50

interface FieldChange {
  readonly label: string
  readonly schema: FieldSchema
  /** Undefined: the property is absent. */
  readonly before: unknown
  readonly after: unknown
}

/** Compares the properties of `node.json`. The order is that of the type, then of the file. */
export async function readFieldChanges(
  api: Api,
  { org_id, type }: Node,
  files: readonly FileChange[],
): Promise<FieldChange[]> {
  const file = files.find(({ path }) => path === 'node.json')
  const [before, after] = [propertiesIn(file?.before), propertiesIn(file?.after)]
  if (before === undefined || after === undefined) return []
  const changed = [...new Set([...after.keys(), ...before.keys()])].filter(
    (name) => JSON.stringify(before.get(name)) !== JSON.stringify(after.get(name)),
  )
  if (changed.length === 0) return []
  const read = type === null ? undefined : api.getType({ path: { org_id, type_name: type } })
  const found = read && (await unlessBusy<AnswerOf<'getType'> | undefined>(read, undefined, ['type_not_found']))
  const fields = new Map(fieldsOf(found?.definition ?? {}).map((field) => [field.name, field]))
  const ordered = [...[...fields.keys()].filter((name) => changed.includes(name)), ...changed]
  return [...new Set(ordered)].map((name) => ({
    label: fields.get(name)?.label ?? name,
    schema: fields.get(name)?.schema ?? {},
    before: before.get(name),
    after: after.get(name),
  }))
}

/** Reads the properties of a `node.json`. Undefined if a branch has none that can be read. */
function propertiesIn(json: string | undefined): ReadonlyMap<string, unknown> | undefined {
  if (json === undefined) return undefined
  try {
    const node: unknown = json === '' ? {} : JSON.parse(json)
    const properties = typeof node === 'object' && node !== null ? Reflect.get(node, 'properties') : undefined
    return new Map(typeof properties === 'object' && properties !== null ? Object.entries(properties) : [])
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** The differences of the files below it show every other change. */
export function FieldChanges({ changes }: { readonly changes: readonly FieldChange[] }) {
  if (changes.length === 0) return null
  return (
    <section class="card field-changes" aria-label="Fields">
      {/* The region scrolls, so it must be reachable with the keyboard. */}
      <section class="table-scroll" aria-label="Changed fields" tabindex={0}>
        <table class="nodes">
          <thead>
            <tr>
              <th scope="col">
                <bdi>Field</bdi>
              </th>
              <th scope="col">
                <bdi>Before</bdi>
              </th>
              <th scope="col">
                <bdi>After</bdi>
              </th>
            </tr>
          </thead>
          <tbody>
            {changes.slice(0, mostRows).map(({ label, schema, before, after }) => (
              <tr>
                <th scope="row">
                  <bdi>{cut(label)}</bdi>
                </th>
                <td>
                  <Side {...{ schema }} value={before} />
                </td>
                <td>
                  <Side {...{ schema }} value={after} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {changes.length > mostRows && <p class="empty">and {changes.length - mostRows} more fields</p>}
    </section>
  )
}

function Side({ schema, value }: { readonly schema: FieldSchema; readonly value: unknown }) {
  if (value === undefined) return <span class="why">not set</span>
  return (
    <div class="v">
      <FieldValue {...{ schema, value }} />
    </div>
  )
}
