/** The rows of the form of a type: its fields and its links. Buttons that move rows show the form again. */

import type { ComponentChildren } from 'preact'
import { fieldKinds } from '../../../pages/field-kinds.ts'
import { More } from '../../../pages/kit/parts.tsx'
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
        A field is a property that pages of this type have, such as a date. Pages store its name. Readers see its title,
        or else its name.
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
        <Entry label="Name" name={name('name')} value={row.name} faults={faults} />
        <Field label="Kind" name={name('kind')} trouble={trouble(name('kind'))}>
          {(tied) => <KindChoice tied={tied} kind={row.kind} />}
        </Field>
        <label class="check">
          <input type="checkbox" name={name('required')} checked={row.required} />
          <span>Required</span>
        </label>
      </div>
      <div class="of-choices">
        <Entry label="Choices" hint="one a line" name={name('choices')} value={row.choices} rows={4} faults={faults} />
      </div>
      <div class="of-json">
        <Entry
          {...{ label: 'Schema', hint: 'JSON Schema, for what no kind says', name: name('json'), value: row.json }}
          {...{ faults, rows: 6, isCode: true }}
        />
      </div>
      <div class="type-foot">
        <MoreOfField {...{ row, name, faults, called }} />
        <RowActs {...{ at, last, action, called }} of="field" />
      </div>
    </fieldset>
  )
}

/** Returns the fault of a control, as `Field` shows it. */
export function troubleIn(faults: Faults): (control: string) => Trouble | undefined {
  return (control) => {
    const says = faults.get(control)
    return says && { field: control, says: says.join(' ') }
  }
}

interface EntryProps {
  readonly label: string
  readonly hint?: ComponentChildren
  /** The name of the control. */
  readonly name: string
  readonly value: string
  readonly faults: Faults
  /** Lines of the box. Default: one line. */
  readonly rows?: number
  readonly isCode?: boolean
  readonly isNumber?: boolean
}

/** A text of the form, with its faults. */
export function Entry({ label, hint, name, value, faults, rows, isCode = false, isNumber = false }: EntryProps) {
  return (
    <Field {...{ label, hint, name }} trouble={troubleIn(faults)(name)}>
      {(tied) =>
        rows === undefined ? (
          <input
            {...{ ...tied, value }}
            autocomplete="off"
            spellcheck={false}
            {...(isNumber && { inputMode: 'decimal' })}
          />
        ) : (
          <textarea {...{ ...tied, rows }} {...(isCode && { class: 'code', spellcheck: false })}>
            {`\n${value}`}
          </textarea>
        )
      }
    </Field>
  )
}

function KindChoice({ tied, kind }: { readonly tied: object; readonly kind: string }) {
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

interface MoreProps {
  readonly row: FieldRow
  readonly name: (control: string) => string
  readonly faults: Faults
  readonly called: string
}

/** The unit that a range counts. The chosen kind hides the others. */
const rangeUnits = (
  <>
    <span class="of-characters">characters of a text</span> <span class="of-items">items of a list</span>
  </>
)

interface FoldedProps {
  readonly called: string
  /** The folded entries, each with its values. */
  readonly entries: readonly (readonly [noun: string, values: string])[]
  readonly isOpen: boolean
  readonly children: ComponentChildren
}

/** The entries that most rows leave empty. It names those that do not. */
function Folded({ called, entries, isOpen, children }: FoldedProps) {
  const used = entries.filter(([, values]) => values.trim() !== '').map(([noun]) => noun)
  const all = entries.map(([noun]) => noun).join(', ')
  const title = (
    <>
      {all.replace(/^./, (letter) => letter.toUpperCase())}
      <span class="vh"> of {called}</span>
      {used.length > 0 && <small> with {used.join(', ')}</small>}
    </>
  )
  return <More {...{ title, isOpen, children }} />
}

function MoreOfField({ row, name, faults, called }: MoreProps) {
  const entry = (control: 'label' | 'help' | 'least' | 'most' | 'value') =>
    ({ name: name(control), value: row[control], faults }) as const
  const entries = [
    ['title', row.label],
    ['help', row.help],
    ['range', row.least + row.most],
    ['first value', row.value],
  ] as const
  const isOpen = ['label', 'help', 'least', 'most', 'value'].some((control) => faults.has(name(control)))
  return (
    <Folded {...{ called, entries, isOpen }}>
      <Entry label="Title" hint="for readers" {...entry('label')} />
      <Entry label="Help" hint="a sentence for people who fill it in" {...entry('help')} rows={2} />
      <div class="of-range">
        <Entry label="Minimum" hint={rangeUnits} {...entry('least')} isNumber />
        <Entry label="Maximum" hint={rangeUnits} {...entry('most')} isNumber />
      </div>
      <Entry
        label="New pages begin with"
        hint="a value, “yes” or “no”; a list has one item a line"
        {...entry('value')}
        rows={2}
      />
    </Folded>
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
  const called = row.label || row.name || 'new link'
  const line = (control: 'name' | 'label' | 'inverse' | 'to' | 'min' | 'max', label: string, hint?: string) => (
    <Entry {...{ label, hint, faults }} name={name(control)} value={row[control]} isNumber={/^m/.test(control)} />
  )
  const entries = [
    ['title', row.label],
    ['title at the other page', row.inverse],
    ['number', row.min + row.max],
  ] as const
  const isOpen = ['label', 'inverse', 'min', 'max'].some((control) => faults.has(name(control)))
  return (
    <fieldset id={`c${at}`} class="type-row type-link">
      <legend class="vh">Link: {called}</legend>
      <input type="hidden" name={name('origin')} value={row.origin} />
      <div class="type-main">
        {line('name', 'Name', 'such as written_by')}
        {line('to', 'Leads to', 'types, with commas; empty: any page')}
      </div>
      <div class="type-foot">
        <Folded {...{ called, entries, isOpen }}>
          {line('label', 'Title', 'such as Author')}
          {line('inverse', 'Title at the other page', 'such as Wrote')}
          <div class="of-range">
            {line('min', 'At least')}
            {line('max', 'At most')}
          </div>
        </Folded>
        <RowActs {...{ at, last, action, called }} of="link" />
      </div>
    </fieldset>
  )
}
