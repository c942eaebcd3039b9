/** The editor in place of the text's plain field: it completes links, shows a preview, takes files, keeps what is unsaved, and sends without leaving. */

import { Conflict, grove } from '../../../spec/client/client.ts'
import { type Attachment, createNode, type Edit, proposeEdit, saveEdit, withLineEnds } from '../edits.ts'
import { attach } from './attachments.ts'
import { Drafts } from './drafts.ts'
import { Form } from './editor-fields.ts'
import { sentenceOf } from './sentences.ts'
import { textField } from './text-field.ts'

/** Milliseconds after the last change. */
const pauses = { draft: 300, preview: 150 } as const

const { root = '', org = '' } = document.body.dataset
const api = grove({ url: root })

export function openEditor(element: HTMLFormElement): void {
  const form = new Form(element)
  const drafts = new Drafts(element.dataset.draft)
  const files = new Map<string, Attachment>()
  let source = form.source()
  let isSending = false
  let isSent = false

  const field = textField({
    field: form.text,
    suggest: async (words) => (await api.suggestTitles({ path: { org_id: org }, query: { q: words } })).suggestions,
    self: form.node,
    onChange: () => changed(),
    onFiles: (given) => void take(given),
    onSave: () => void send(form.acts[0]?.value ?? ''),
  })

  const written = (): Edit => {
    const text = withLineEnds(field.text(), source.isDos)
    return {
      ...{ title: form.title.value.trim(), text, message: form.message.value },
      // A file whose link was removed stays behind.
      files: [...files.values()].filter(({ path }) => text.includes(path)),
    }
  }
  const isChanged = () => {
    const { title, text, message } = written()
    const before = source.head === null ? '' : source.text
    return text !== before || title !== source.title || message !== ''
  }

  // What is unsaved.
  const keep = later(pauses.draft, () => {
    if (isSent) return
    if (isChanged()) drafts.keep({ ...written(), head: source.head })
    else drafts.remove()
  })
  const draft = drafts.read()
  if (draft && (draft.text !== source.text || draft.title !== source.title))
    form.offer(draft.at, draft.head !== source.head, {
      take: () => {
        // As it was begun: should main have moved since, sending it shows both sides.
        source = { ...source, head: draft.head }
        form.head.value = draft.head ?? ''
        form.title.value = draft.title
        form.message.value = draft.message
        field.setText(draft.text)
        field.focus()
      },
      drop: () => {
        drafts.remove()
        field.focus()
      },
    })

  const changed = () => {
    keep.soon()
    show.soon()
  }
  for (const input of [form.title, form.message]) input.addEventListener('input', changed)
  addEventListener('pagehide', () => keep.now())
  addEventListener('beforeunload', (event) => {
    if (!isSent && written().files.length > 0) event.preventDefault()
  })

  // The preview.
  const show = later(pauses.preview, async () => {
    if (form.preview.hidden) return
    const { preview } = await import('./preview.ts')
    form.preview.innerHTML = await preview(api, { root, org, node: form.node, ...written() })
  })
  form.previewButton.addEventListener('click', () => {
    form.preview.hidden = !form.preview.hidden
    form.previewButton.ariaPressed = String(!form.preview.hidden)
    show.now()
  })

  // Files.
  const take = async (given: readonly File[]) => {
    for (const file of given) {
      const { problem, attachment, link } = await attach(file, [...files.values()])
      if (problem !== undefined) form.say(problem)
      else if (attachment) {
        files.set(attachment.path, attachment)
        field.insert(link)
        form.tell(`${attachment.path} goes along when this is saved.`)
      }
    }
  }
  form.onFiles((given) => void take(given))

  // Sending.
  element.addEventListener('submit', (event) => {
    event.preventDefault()
    const { submitter } = event
    void send(submitter instanceof HTMLButtonElement ? submitter.value : (form.acts[0]?.value ?? ''))
  })
  const send = async (act: string) => {
    if (isSending || !element.reportValidity()) return
    isSending = true
    form.sending(true)
    keep.now()
    try {
      const to = await perform(act, written())
      isSent = true
      drafts.remove()
      location.assign(to)
    } catch (error) {
      form.sending(false)
      if (error instanceof Conflict && error.code === 'head_moved') await compare()
      else form.say(sentenceOf(error, root))
    } finally {
      isSending = false
    }
  }
  /** The page to go on to. */
  const perform = async (act: string, edit: Edit): Promise<string> => {
    const path = { org_id: org, node_id: form.node }
    const page = `${root}/o/${org}/n/${form.node}`
    if (act === 'create') {
      await createNode(api, org, { id: form.node, ...form.place(), ...edit })
      return page
    }
    const { head } = source
    if (act === 'propose' && head !== null)
      return `${page}/proposals/${await proposeEdit(api, path, { ...source, head, slug: form.slug }, edit)}`
    await saveEdit(api, path, source, edit).catch((error: unknown) => {
      if (!(error instanceof Conflict) || error.code !== 'no_changes') throw error
    })
    return page
  }
  /** The server renders both sides: sends the form as a browser would, and shows the page of the answer. */
  const compare = async () => {
    try {
      const other = await form.compared(written())
      source = other.source()
      field.setText(other.text.value)
      form.takeOver(other)
      keep.now()
    } catch (error) {
      form.say(sentenceOf(error, root))
    }
  }

  form.open()
  if (form.title.value !== '') field.focus()
}

/** Runs it once, some time after the last call. */
function later(ms: number, run: () => unknown): { soon(): void; now(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined
  const now = () => {
    clearTimeout(timer)
    void run()
  }
  return {
    now,
    soon: () => {
      clearTimeout(timer)
      timer = setTimeout(now, ms)
    },
  }
}
