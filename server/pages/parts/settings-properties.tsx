/** The properties of a node: a row for each, or JSON for all of them. */

import { nodeJson } from '../edits.ts'
import { type FormRow, formKinds, formRow, isKind, storedRow } from '../properties.ts'
import { EntryError, jsonObject, jsonOf, rowsOf } from '../property-rows.ts'
import {
  ActButton,
  type BuildChange,
  FormError,
  Section,
  type Settings,
  SettingsForm,
  typedIn,
} from './settings-section.tsx'

/** Rows for new properties. */
const emptyRows = 2
/** Characters of a name in the form. */
const longestName = 1_000

export function PropertySection({ settings }: { readonly settings: Settings }) {
  const typed = typedIn(settings, 'properties')
  const { properties } = settings.at.node
  const rows = typed?.has('json') ? undefined : typed ? typedRows(typed) : rowsOf(properties)?.map(formRow)
  return (
    <Section settings={settings} name="properties">
      <p class="why">
        Facts about this page, such as <em>author</em> or <em>due</em>. Clear a name and its value to remove the
        property.
      </p>
      <SettingsForm settings={settings} name="properties">
        {rows === undefined ? (
          <label>
            All properties as JSON
            <textarea name="json" rows={12} class="code" spellcheck={false}>
              {`\n${typed?.get('json') ?? JSON.stringify(properties, null, 2)}`}
            </textarea>
          </label>
        ) : (
          <Rows rows={[...rows, ...Array<FormRow>(emptyRows).fill({ name: '', kind: 'text', value: '' })]} />
        )}
        <ActButton settings={settings} act="properties" label="Save properties" isMain />
      </SettingsForm>
    </Section>
  )
}

function Rows({ rows }: { readonly rows: readonly FormRow[] }) {
  return (
    <ul class="property-rows">
      {rows.map(({ name, kind, value }, at) => {
        const of = name === '' ? 'new property' : name
        return (
          <li>
            <input
              name="name"
              value={name}
              maxLength={longestName}
              autocomplete="off"
              placeholder={name === '' ? 'Name' : undefined}
              aria-label={name === '' ? `Name of new property ${at + 1}` : `Name of ${of}`}
            />
            <select name="kind" aria-label={`Kind of ${of} ${at + 1}`}>
              {Object.entries(formKinds).map(([value, label]) => (
                <option value={value} selected={value === kind}>
                  {label}
                </option>
              ))}
            </select>
            <textarea
              name="value"
              rows={Math.min(12, value.split('\n').length)}
              class={kind === 'json' ? 'code' : undefined}
              placeholder={name === '' ? 'Value' : undefined}
              aria-label={`Value of ${of} ${at + 1}`}
            >
              {`\n${value}`}
            </textarea>
          </li>
        )
      })}
    </ul>
  )
}

function typedRows(form: URLSearchParams): FormRow[] {
  const [names, kindsSent, values] = [form.getAll('name'), form.getAll('kind'), form.getAll('value')]
  return names.flatMap((name, at) => {
    const [kind = 'text', value = ''] = [kindsSent[at], values[at]]
    const row = { name, kind: isKind(kind) ? kind : 'text', value: value.replaceAll('\r\n', '\n') } as const
    return name.trim() === '' && value.trim() === '' ? [] : [row]
  })
}

export const changeProperties: BuildChange = async ({ visit: { api, form }, at: { path, node } }, head) => {
  const known = new Set(Object.keys(node.properties))
  const rows = typedRows(form).map((row) => (known.has(row.name) ? row : { ...row, name: row.name.trim() }))
  try {
    const json = form.has('json') ? jsonObject(form.get('json') ?? '') : jsonOf(rows.map(storedRow))
    const content = withProperties(await nodeJson(api, path, head, { properties: {} }), json)
    return { changes: [{ action: 'put', path: 'node.json', content }], message: 'Edit properties' }
  } catch (error) {
    throw error instanceof EntryError ? new FormError(error.message) : error
  }
}

/** Returns node.json with this text as its properties. A value that was parsed could have lost digits. */
function withProperties(json: string, properties: string): string {
  const members = Object.entries(JSON.parse(json)).map(([name, value]) => {
    const text = name === 'properties' ? properties : JSON.stringify(value, null, 2).replaceAll('\n', '\n  ')
    return `  ${JSON.stringify(name)}: ${text}`
  })
  return `{\n${members.join(',\n')}\n}\n`
}
