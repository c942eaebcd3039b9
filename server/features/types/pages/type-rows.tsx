/** The rows of the form of a type: its fields and its links. Buttons that move rows show the form again. */

import { fieldKinds } from '../../../pages/field-kinds.ts'
import { Field, type Trouble } from '../../../pages/parts/forms.tsx'
import type { Faults } from './type-definition.ts'
import type { ConnectionRow, FieldRow } from './type-fields.ts'

interface RowsProps<Row> {
  readonly rows: readonly Row[]
  readonly faults: Faults
  /** The address of the form. */
  readonly action: string
}

export function FieldRows({ rows, faults, action }: RowsProps<FieldRow>) {
  return (
    <section aria-labelledby="type-fields">
      <h2 id="type-fields">Fields</h2>
      <p class="why">
        A field is a property that pages of this type have, such as a date. Pages store it by its name. Readers see its
        label, or the name if it has no label.
      </p>
      <input type="hidden" name="fields" value={rows.length} />
      {rows.map((row, at) => (
        <FieldCard {...{ row, at, faults, action }} last={rows.length - 1} />
      ))}
      <button class="btn" {...actTo(action, 'add-field', `f${rows.length}`)}>
        Add a field
      </button>
    </section>
  )
}

/** Attributes of a button that changes rows. The browser then shows the row. */
function actTo(action: string, act: string, row: string) {
  return { type: 'submit', name: 'act', value: act, formNoValidate: true, formAction: `${action}#${row}` } as const
}

interface CardProps {
  readonly row: FieldRow
  readonly at: number
  readonly last: number
  readonly faults: Faults
  readonly action: string
}

function FieldCard({ row, at, last, faults, action }: CardProps) {
  const name = (control: string) => `f${at}.${control}`
  const trouble = troubleIn(faults)
  const called = row.label || row.name || 'new field'
  return (
    <fieldset id={`f${at}`} class="type-row type-field">
      <legend class="vh">Field: {called}</legend>
      <input type="hidden" name={name('origin')} value={row.origin} />
      <div class="type-main">
        <Field label="Name" name={name('name')} trouble={trouble(name('name'))}>
          {(tied) => <input {...tied} value={row.name} autocomplete="off" spellcheck={false} />}
        </Field>
        <Field label="Label" name={name('label')} trouble={trouble(name('label'))}>
          {(tied) => <input {...tied} value={row.label} autocomplete="off" />}
        </Field>
        <Field label="Kind" name={name('kind')} trouble={trouble(name('kind'))}>
          {(tied) => <KindChoice tied={tied} kind={row.kind} />}
        </Field>
        <label class="check">
          <input type="checkbox" name={name('required')} checked={row.required} />
          <span>Required</span>
        </label>
      </div>
      <div class="of-choices">
        <Field label="Choices" hint="one a line" name={name('choices')} trouble={trouble(name('choices'))}>
          {(tied) => <Lines tied={tied} value={row.choices} rows={4} />}
        </Field>
      </div>
      <div class="of-json">
        <Field
          label="Schema"
          hint="JSON Schema, for what no kind says"
          name={name('json')}
          trouble={trouble(name('json'))}
        >
          {(tied) => <Lines tied={tied} value={row.json} rows={6} isCode />}
        </Field>
      </div>
      <div class="type-foot">
        <MoreOfField {...{ row, name, trouble }} called={called} />
        <RowActs {...{ at, last, action, called }} of="field" />
      </div>
    </fieldset>
  )
}

type TroubleOf = (control: string) => Trouble | undefined

/** Returns the fault of a control, as `Field` shows it. */
export function troubleIn(faults: Faults): TroubleOf {
  return (control) => {
    const says = faults.get(control)
    return says && { field: control, says: says.join(' ') }
  }
}

interface Tied {
  readonly id: string
  readonly name: string
}

function KindChoice({ tied, kind }: { readonly tied: Tied; readonly kind: string }) {
  return (
    <select {...tied}>
      {fieldKinds.map(({ name, title, choices, range }) => (
        <option
          value={name}
          selected={name === kind}
          {...(choices && { 'data-choices': '' })}
          {...(range && { 'data-range': range.unit })}
        >
          {title}
        </option>
      ))}
      <option value="json" selected={kind === 'json'} data-json="">
        Other (JSON)
      </option>
    </select>
  )
}

interface LinesProps {
  readonly tied: Tied
  readonly value: string
  readonly rows: number
  readonly isCode?: boolean
}

export function Lines({ tied, value, rows, isCode = false }: LinesProps) {
  return (
    <textarea {...tied} rows={rows} {...(isCode && { class: 'code', spellcheck: false })}>
      {`\n${value}`}
    </textarea>
  )
}

interface MoreProps {
  readonly row: FieldRow
  readonly name: (control: string) => string
  readonly trouble: TroubleOf
  readonly called: string
}

/** The unit that a range counts. The chosen kind hides the others. */
const rangeUnits = (
  <>
    <span class="of-characters">characters of a text</span> <span class="of-items">items of a list</span>
  </>
)

/** The entries that most fields leave empty. */
function MoreOfField({ row, name, trouble, called }: MoreProps) {
  const controls = ['help', 'least', 'most', 'value'] as const
  const isOpen = controls.some((control) => trouble(name(control)))
  const used = [
    ...(row.help.trim() === '' ? [] : ['help']),
    ...(row.least === '' && row.most === '' ? [] : ['range']),
    ...(row.value.trim() === '' ? [] : ['first value']),
  ]
  return (
    <details open={isOpen}>
      <summary>
        Help, range, first value<span class="vh"> of {called}</span>
        {used.length > 0 && <small> with {used.join(', ')}</small>}
      </summary>
      <div class="type-more">
        <Field
          label="Help"
          hint="a sentence for people who fill it in"
          name={name('help')}
          trouble={trouble(name('help'))}
        >
          {(tied) => <Lines tied={tied} value={row.help} rows={2} />}
        </Field>
        <div class="of-range">
          <Field label="Minimum" hint={rangeUnits} name={name('least')} trouble={trouble(name('least'))}>
            {(tied) => <input {...tied} inputMode="decimal" value={row.least} autocomplete="off" />}
          </Field>
          <Field label="Maximum" hint={rangeUnits} name={name('most')} trouble={trouble(name('most'))}>
            {(tied) => <input {...tied} inputMode="decimal" value={row.most} autocomplete="off" />}
          </Field>
        </div>
        <Field
          label="New pages begin with"
          hint="a value, “yes” or “no”; a list has one item a line"
          name={name('value')}
          trouble={trouble(name('value'))}
        >
          {(tied) => <Lines tied={tied} value={row.value} rows={2} />}
        </Field>
      </div>
    </details>
  )
}

interface ActsProps {
  readonly at: number
  readonly last: number
  readonly action: string
  readonly called: string
  readonly of: 'field' | 'link'
}

function RowActs({ at, last, action, called, of }: ActsProps) {
  const prefix = of === 'field' ? 'f' : 'c'
  const act = (name: string, to: number) => actTo(action, `${name}-${of}:${at}`, `${prefix}${Math.max(0, to)}`)
  return (
    <p class="type-acts">
      {at > 0 && (
        <button class="btn quiet" {...act('up', at - 1)} aria-label={`Move up: ${called}`}>
          Up
        </button>
      )}
      {at < last && (
        <button class="btn quiet" {...act('down', at + 1)} aria-label={`Move down: ${called}`}>
          Down
        </button>
      )}
      <button class="btn quiet stop" {...act('remove', at - 1)} aria-label={`Remove the ${of}: ${called}`}>
        Remove
      </button>
    </p>
  )
}

export function ConnectionRows({ rows, faults, action }: RowsProps<ConnectionRow>) {
  return (
    <>
      <input type="hidden" name="connections" value={rows.length} />
      {rows.map((row, at) => (
        <ConnectionCard {...{ row, at, faults, action }} last={rows.length - 1} />
      ))}
      <button class="btn" {...actTo(action, 'add-link', `c${rows.length}`)}>
        Add a link
      </button>
    </>
  )
}

function ConnectionCard({ row, at, last, faults, action }: Omit<CardProps, 'row'> & { readonly row: ConnectionRow }) {
  const name = (control: string) => `c${at}.${control}`
  const trouble = troubleIn(faults)
  const called = row.label || row.name || 'new link'
  const line = (control: 'name' | 'label' | 'inverse' | 'min' | 'max', label: string, hint?: string) => (
    <Field label={label} hint={hint} name={name(control)} trouble={trouble(name(control))}>
      {(tied) => <input {...tied} value={row[control]} autocomplete="off" {...numeric(control)} />}
    </Field>
  )
  return (
    <fieldset id={`c${at}`} class="type-row type-link">
      <legend class="vh">Link: {called}</legend>
      <input type="hidden" name={name('origin')} value={row.origin} />
      <div class="type-main">
        {line('name', 'Name', 'such as written_by')}
        {line('label', 'Label', 'such as Author')}
        {line('inverse', 'Label at the other page', 'such as Wrote')}
      </div>
      <div class="type-ends">
        <Field
          label="Leads to"
          hint="types, with commas; empty: any page"
          name={name('to')}
          trouble={trouble(name('to'))}
        >
          {(tied) => <input {...tied} value={row.to} autocomplete="off" spellcheck={false} />}
        </Field>
        {line('min', 'At least')}
        {line('max', 'At most')}
      </div>
      <RowActs {...{ at, last, action, called }} of="link" />
    </fieldset>
  )
}

function numeric(control: string) {
  return control === 'min' || control === 'max' ? { inputMode: 'numeric' as const } : {}
}
