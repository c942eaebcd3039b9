/** The tags, the description and the properties of a page, as fields of the editor. */

import { type FormRow, formKinds, type Panel } from '../properties.ts'

/** Empty rows below those that a page has. A script adds more. */
const blankRows = 2

interface PanelProps {
  readonly panel: Panel
  /** The key of the fields as the form first showed them. */
  readonly base: string
}

export function EditorPanel({ panel, base }: PanelProps) {
  const { tags, description, rows } = panel
  const blank: FormRow = { name: '', kind: 'text', value: '' }
  return (
    <details class="editor-panel" data-panel>
      <summary>Tags and properties</summary>
      <input type="hidden" name="panel" value={base} />
      <div class="panel-fields">
        <div class="panel-tags" data-tags>
          <label>
            Tags
            <input name="tags" value={tags} maxLength={20_000} autocomplete="off" placeholder="sea, mammal" />
          </label>
        </div>
        <label>
          Description
          <input name="description" value={description} maxLength={2_000} autocomplete="off" />
        </label>
        {rows === undefined ? (
          <p class="why">This page has properties that a form cannot hold. They stay as they are.</p>
        ) : (
          <fieldset class="panel-rows">
            <legend>Properties</legend>
            <ul data-rows>
              {[...rows, ...Array<FormRow>(blankRows).fill(blank)].map((row) => (
                <PropertyRow row={row} />
              ))}
            </ul>
            <button class="btn small" type="button" data-add-row hidden>
              Add a property
            </button>
          </fieldset>
        )}
      </div>
    </details>
  )
}

function PropertyRow({ row: { name, kind, value } }: { readonly row: FormRow }) {
  return (
    <li>
      <input name="property-name" value={name} aria-label="Name" placeholder="Name" maxLength={200} />
      <select name="property-kind" aria-label="Kind">
        {Object.entries(formKinds).map(([key, label]) => (
          <option value={key} selected={key === kind}>
            {label}
          </option>
        ))}
      </select>
      {/* HTML parsers drop a newline at the start of a textarea. */}
      <textarea name="property-value" aria-label="Value" placeholder="Value" rows={value.split('\n').length}>
        {`\n${value}`}
      </textarea>
    </li>
  )
}
