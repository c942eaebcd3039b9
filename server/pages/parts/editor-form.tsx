/** The form for editing a text. It works without script; client/editor.ts turns it into an editor. */

import type { ComponentChildren } from 'preact'
import { AppError, ValidationError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { editMessage, newMessage } from '../edits.ts'
import type { PageContext } from '../page-context.ts'
import { EntryError, type Fields, fieldsOf, type Panel, panelIn, panelKey } from '../properties.ts'
import { asSentence, brokenField } from '../text/broken-rules.ts'
import { EditorPanel } from './editor-panel.tsx'
import { EditorToolbar } from './editor-toolbar.tsx'

/** The content of the form: from the node, or as it was sent. */
export interface Written {
  readonly title: string
  readonly text: string
  readonly message: string
  /** Tags and properties, as fields. */
  readonly panel?: Panel | undefined
  /** The key of the fields that the form first showed; undefined: these ones. */
  readonly panelBase?: string | undefined
}

/** Maximum lengths of the fields in UTF-16 units. */
export const most = { title: limits.title, text: limits.pageText, message: 10_000 } as const

interface FormProps {
  readonly written: Written
  /** The URL that the form is sent to. */
  readonly action: string
  /** The URL of the cancel link. */
  readonly back: string
  readonly acts: readonly Act[]
  readonly hidden: Readonly<Record<string, string>>
  /** `data-…` attributes for the script. Without `data-editor` the form stays plain. */
  readonly data: Readonly<Record<string, string>>
  readonly problem?: string | undefined
  /** The field that has the focus when the page opens. */
  readonly focus?: 'title' | 'text'
  /** The choice of a proposal. */
  readonly into?: ComponentChildren
  readonly children?: ComponentChildren
}

export interface Act {
  readonly name: 'save' | 'propose' | 'create' | 'create-proposal' | 'another'
  readonly label: string
}

export function EditorForm({ written, action, back, acts, hidden, data, problem, focus, into, children }: FormProps) {
  const { title, text, message, panel, panelBase } = written
  return (
    <form class="fields editor" method="post" action={action} {...data}>
      {Object.entries(hidden).map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
      <label>
        Title
        <input
          {...{ name: 'title', required: true, maxLength: most.title, value: title, class: 'as-title' }}
          dir="auto"
          autocomplete="off"
          autofocus={focus === 'title'}
        />
      </label>
      <div class="editor-body">
        <Writing text={text} isFocused={focus === 'text'} />
        {panel && <EditorPanel panel={panel} base={panelBase ?? panelKey(panel)} />}
      </div>
      <label>
        Summary (optional) <small>Describe your change in one line.</small>
        <input
          {...{ name: 'message', maxLength: most.message, value: message, autocomplete: 'off' }}
          placeholder={acts[0]?.name.startsWith('create') ? newMessage(title) : editMessage(title)}
        />
      </label>
      {children}
      <p class="problem" role="alert" data-problem hidden={problem === undefined}>
        {problem}
      </p>
      <Acts {...{ acts, back, into }} />
    </form>
  )
}

/** The text with its toolbar, its preview, and the files to upload. */
function Writing({ text, isFocused }: { readonly text: string; readonly isFocused: boolean }) {
  return (
    <div class="writing" data-writing>
      <div class="writing-head">
        <label for="text">Text</label>
        <span class="why" data-hint>
          Markdown
        </span>
      </div>
      <EditorToolbar />
      <ViewSwitch />
      <div class="panes">
        <div class="pane" data-pane id="pane-write" role="tabpanel" aria-label="Write">
          {/* HTML parsers drop a newline at the start of a textarea. */}
          <textarea
            id="text"
            name="text"
            rows={22}
            dir="auto"
            spellcheck
            data-text
            autofocus={isFocused}
          >{`\n${text}`}</textarea>
        </div>
        <div class="pane prose" data-preview id="pane-preview" role="tabpanel" aria-label="Preview" hidden />
      </div>
      <section class="attached" id="attached" data-attached aria-label="Files to upload" hidden />
    </div>
  )
}

/** The buttons of the form. If there are two, a line says what each does. */
function Acts({ acts, back, into }: Pick<FormProps, 'acts' | 'back' | 'into'>) {
  return (
    <>
      {acts.length > 1 && (
        <p class="why acts-why" id="acts-why">
          Save {acts[0]?.name === 'create' ? 'creates' : 'changes'} the page at once. Propose asks for a review.
        </p>
      )}
      <div class="editor-acts">
        {acts.map(({ name, label }, at) => (
          <button
            {...{ class: at === 0 ? 'btn go' : 'btn', type: 'submit', name: 'act', value: name }}
            aria-describedby={acts.length > 1 ? 'acts-why' : undefined}
          >
            {label}
          </button>
        ))}
        {into}
        <a class="btn quiet" href={back}>
          Cancel
        </a>
        <p class="why" data-kept />
        <p class="why" role="status" data-status />
      </div>
    </>
  )
}

/** Switches between the text and its preview. A wide window shows both. A script shows the switch. */
function ViewSwitch() {
  const tab = (view: 'write' | 'preview', label: string) => (
    <button
      class="btn small"
      type="button"
      role="tab"
      data-view={view}
      tabIndex={view === 'write' ? 0 : -1}
      aria-controls={`pane-${view}`}
      aria-selected={view === 'write' ? 'true' : 'false'}
    >
      {label}
    </button>
  )
  return (
    <span class="writing-tools" data-tools hidden>
      <span class="view-tabs" role="tablist" aria-label="View">
        {tab('write', 'Write')}
        {tab('preview', 'Preview')}
      </span>
      <button class="btn small view-toggle" type="button" data-show-preview aria-pressed="false">
        Preview
      </button>
    </span>
  )
}

/** Reads the fields that were sent. */
export function writtenIn({ form }: PageContext): Written {
  const field = (name: string, longest: number) => (form.get(name) ?? '').slice(0, longest)
  return {
    title: field('title', most.title).trim(),
    text: form.get('text') ?? '',
    message: field('message', most.message),
    panel: panelIn(form),
    panelBase: form.get('panel') ?? undefined,
  }
}

/** Returns what the panel says if the user has changed it. @throws EntryError */
export function changedFields({ panel, panelBase }: Written): Fields | undefined {
  return panel === undefined || panelKey(panel) === panelBase ? undefined : fieldsOf(panel)
}

/** Returns an API error as a sentence, and the page's HTTP status. @throws errors that are not from the API */
export function problemOf(error: unknown): [says: string, status: number] {
  if (error instanceof ValidationError) {
    const { field = '', says } = brokenField(error.problems)
    return [`${labels[field] ?? ''}${says}`, 422]
  }
  if (error instanceof EntryError) return [error.message, 422]
  if (!(error instanceof AppError)) throw error
  return [asSentence(error.message), statuses[error.code] ?? 409]
}

const labels: Readonly<Record<string, string>> = { title: 'Title: ', message: 'Summary: ' }

const statuses: Readonly<Partial<Record<AppError['code'], number>>> = { forbidden: 403, too_large: 413, busy: 503 }

interface RefusedProps {
  readonly title: string
  readonly says: string
  readonly back: string
  readonly children?: ComponentChildren
}

export function RefusedPage({ title, says, back, children }: RefusedProps) {
  return (
    <main id="main" class="page narrow">
      {children}
      <h1>{title}</h1>
      <p class="lede">{says}</p>
      <p>
        <a class="btn" href={back}>
          Back
        </a>
      </p>
    </main>
  )
}
