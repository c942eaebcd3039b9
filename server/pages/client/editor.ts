/** The text editor that replaces the plain field: completion, preview, attachments, drafts and saving. */

import { Conflict, GroveError, grove, Invalid } from '../../../spec/client/client.ts'
import { createNode, type Edit, editItem, messageOf, newItem, proposeEdit, saveEdit, withLineEnds } from '../edits.ts'
import { EntryError } from '../properties.ts'
import { newSet, proposeNew, proposePages } from '../proposing.ts'
import { asSentence, brokenField } from '../text/broken-rules.ts'
import type { Attached } from './attachments.ts'
import { Drafts } from './drafts.ts'
import { type Begun, Form } from './editor-fields.ts'
import type { PanelForm } from './editor-panel.ts'
import { Views } from './editor-views.ts'
import { pathOf } from './paths.ts'
import type { KnownDraft, StoredDraft } from './stored-draft.ts'
import { type TextField, textField } from './text-field.ts'
import { twinQuestion } from './twins.ts'

/** Milliseconds to wait after the last change. `leave`: until the next page is opened, although the draft stays. */
const pauses = { draft: 300, preview: 150, leave: 2_000 } as const

type LocalDraft = NonNullable<ReturnType<Drafts['read']>>

/** Pages that `[[` suggests before the first letter. */
const mostRecent = 8

const { root = '', org = '' } = document.body.dataset
const api = grove({ url: root })

export function openEditor(element: HTMLFormElement): void {
  new Editor(new Form(element)).open()
}

class Editor {
  private readonly form: Form
  private readonly drafts: Drafts
  private stored: StoredDraft | undefined
  private readonly files = new Map<string, Attached>()
  private readonly field: TextField
  private panel: PanelForm | undefined
  private panelReady = Promise.resolve()
  /** The node as it was when the edit began. */
  private source: Begun
  private isSending = false
  private isSent = false
  /** True while another draft may be offered. Until the user has chosen, none is removed. */
  private isOffering = true
  private readonly keep = later(pauses.draft, () => this.keepDraft())
  private readonly listFiles = later(pauses.draft, () => this.showFiles())
  private readonly show = later(pauses.preview, () => this.showPreview())

  constructor(form: Form) {
    this.form = form
    this.drafts = new Drafts(form.element.dataset.draft)
    this.source = form.source()
    this.field = textField({
      field: form.text,
      onChange: () => this.changed(),
      onFiles: (given) => void this.take(given),
    })
  }

  open(): void {
    const { form, field } = this
    for (const input of [form.title, form.message]) input.addEventListener('input', () => this.changed())
    addEventListener('pagehide', () => {
      this.keep.now()
      this.stored?.copyNow()
    })
    // A browser that goes back may restore the page as it was when it was sent.
    addEventListener('pageshow', ({ persisted }) => {
      if (persisted && this.isSent) location.reload()
    })
    addEventListener('beforeunload', (event) => {
      if (!this.isSent && this.written().files.length > 0) event.preventDefault()
    })
    new Views(form.element, form.preview, () => this.show.now())
    form.title.addEventListener('input', () => form.propose())
    // A title may be typed before the script runs.
    if (form.title.value !== '') form.propose()
    form.onFiles = (given) => void this.take(given)
    form.element.addEventListener('submit', (event) => {
      event.preventDefault()
      const { submitter } = event
      void this.send(submitter instanceof HTMLButtonElement ? submitter.value : form.firstAct)
    })
    form.element.addEventListener('keydown', (event) => this.press(event), true)
    form.open()
    void this.addTools()
    this.panelReady = this.openPanel()
    // The page may have set the focus, and the user may be typing already.
    const { activeElement } = document
    if (form.title.defaultValue !== '' && (activeElement === document.body || activeElement === form.text))
      field.focus()
  }

  /** Handles the keys that save from every field, and Enter in the title. */
  private press(event: KeyboardEvent): void {
    const { key, ctrlKey, metaKey, altKey, shiftKey } = event
    if (altKey || shiftKey || event.isComposing) return
    const isCtrl = ctrlKey || metaKey
    // Ctrl+Enter on a link opens it in another tab.
    const isSave = isCtrl && (key.toLowerCase() === 's' || (key === 'Enter' && !(event.target as Element).closest('a')))
    if (!isSave && (isCtrl || key !== 'Enter' || event.target !== this.form.title)) return
    // Otherwise the browser opens its own dialog, also for a key that is held down.
    event.preventDefault()
    event.stopPropagation()
    if (!isSave) this.field.focus()
    else if (!event.repeat) void this.send(this.form.firstAct)
  }

  /** Adds the toolbar, the keys and the lists, which are loaded after the editor. */
  private async addTools(): Promise<void> {
    const { form, field } = this
    const tools = import('./editor-tools.ts')
    const { completion, completeTyped } = await import('./editor-completion.ts')
    const path = { org_id: org }
    field.extend(
      completion({
        suggest: async (q) => {
          const { suggestions } = await api.suggestTitles({ path, query: { q } })
          return suggestions.map(({ node_id: id, title }) => ({ id, title }))
        },
        recent: async () => (await api.listNodes({ path, query: { order: 'changed', limit: mostRecent } })).nodes,
        self: form.node,
        chooseFiles: () => form.chooseFiles(),
      }),
    )
    completeTyped(field.view)
    const { editorKeys, openToolbar } = await tools
    field.extend([editorKeys(), openToolbar(form.toolbar, field.view, () => form.chooseFiles())])
  }

  private async openPanel(): Promise<void> {
    const { mostTags, PanelForm } = await import('./editor-panel.ts')
    this.panel = new PanelForm({
      form: this.form.element,
      onChange: () => this.keep.soon(),
      readTags: async (part) => {
        const query = { limit: mostTags, ...(part !== '' && { q: part.slice(0, 100) }) }
        const { tags } = await api.listOrgTags({ path: { org_id: org }, query })
        return tags.map(({ name }) => name)
      },
    })
    this.panel.open()
    void this.offerDraft()
  }

  private written(): Edit {
    const { form } = this
    const text = withLineEnds(this.field.text(), this.source.isDos)
    return {
      ...{ title: form.title.value.trim(), text, message: form.message.value },
      // A file whose link was removed from the text is not uploaded.
      files: [...this.files.values()]
        .filter(({ path }) => text.includes(path))
        .map(({ path, content }) => ({ path, content })),
    }
  }

  private changed(): void {
    this.keep.soon()
    this.show.soon()
    this.listFiles.soon()
  }

  private keepDraft(): void {
    if (this.isSent) return
    const { source } = this
    const edit = this.written()
    const before = source.head === null ? '' : source.text
    const panel = this.panel?.isChanged ? this.panel.state() : ''
    const isChanged = edit.text !== before || edit.title !== source.title || edit.message !== '' || panel !== ''
    if (isChanged) {
      const { head } = source
      this.drafts.keep({ ...edit, panel, head, stored: this.stored?.known })
      const { title, text: text_content, message } = edit
      const { form } = this
      this.stored?.keep({ ...form.drafted(), head, title, text_content, message, form: form.others(panel) })
    } else if (!this.isOffering) {
      this.drafts.remove()
      void this.stored?.remove()
    }
  }

  /** Says where the draft is, and notes its version in the browser. */
  private copied(problem?: string): void {
    if (this.isSent) return
    this.form.kept(problem)
    this.keep.soon()
  }

  /** Offers the newer of the drafts in this browser and on the server. */
  private async offerDraft(): Promise<void> {
    const { StoredDraft } = await import('./stored-draft.ts')
    const stored = new StoredDraft({ root, org, onCopied: (problem) => this.copied(problem) })
    this.stored = stored
    const { form, source } = this
    const { continued, isNew } = form
    const local = this.localDraft()
    if (continued) stored.known = continued
    const { node_id, branch } = form.drafted()
    const all = isNew || continued ? [] : await stored.list(node_id)
    const newest = all.find((one) => !one.is_new && one.branch === branch)
    const copy = local?.stored && (await stored.find(local.stored.id))
    const isNewer = newest && newest.version !== local?.stored?.version && !(local && local.at > newest.saved_at)
    if (newest && isNewer)
      form.offer(newest.saved_at, newest.head !== source.head, {
        take: () => {
          this.drafts.remove()
          location.assign(form.continuing(newest.id))
        },
        drop: () => {
          this.isOffering = false
          void stored.discard(newest.id)
        },
      })
    else if (local) this.offerLocal(local, copy)
    else this.isOffering = false
  }

  /** Returns the draft in this browser, if it differs from the fields and the page. */
  private localDraft(): LocalDraft | undefined {
    const { source, form, field } = this
    const draft = this.drafts.read()
    if (!draft || (draft.text === source.text && draft.title === source.title && draft.panel === '')) return undefined
    if (form.continued === undefined) return draft
    return draft.stored?.version === form.continued.version && draft.text !== field.text() ? draft : undefined
  }

  /** @param copy the same draft on the server */
  private offerLocal(draft: LocalDraft, copy: KnownDraft | undefined): void {
    const { drafts, form, field, source, stored } = this
    form.offer(draft.at, draft.head !== source.head, {
      take: () => {
        this.isOffering = false
        if (copy && stored) stored.known = { id: copy.id, version: copy.version }
        // Keeps the commit that the draft started from. If main has moved since, saving shows both sides.
        this.source = { ...this.source, head: draft.head }
        form.head.value = draft.head ?? ''
        form.title.value = draft.title
        form.message.value = draft.message
        if (draft.panel !== '') this.panel?.restore(draft.panel)
        field.setText(draft.text)
        field.focus()
      },
      drop: () => {
        this.isOffering = false
        drafts.remove()
        if (copy) void stored?.discard(copy.id)
        field.focus()
      },
    })
  }

  private async showPreview(): Promise<void> {
    const { form } = this
    if (form.preview.hidden) return
    const { followText, preview } = await import('./preview.ts')
    const chosen = [...this.files.values()]
    form.preview.innerHTML = await preview(api, {
      ...{ root, org, node: form.node, revision: form.branch },
      ...{ ...this.written(), chosen },
    })
    followText(form.preview, form.pane)
    if (form.preview.querySelector('[data-diagram]'))
      void import('./diagrams.ts').then(({ drawDiagrams }) => drawDiagrams(form.preview))
  }

  private async take(given: readonly File[]): Promise<void> {
    const { form, files } = this
    const { attachFile } = await import('./attachments.ts')
    let problem = ''
    for (const file of given) {
      const attached = await attachFile(file, [...files.values()])
      if (typeof attached === 'string') problem = attached
      else {
        files.set(attached.path, attached)
        this.field.insert(attached.link)
        form.tell(`${attached.path.replace('files/', '')} will be uploaded when you save.`)
      }
    }
    // An earlier problem is solved if all files could be attached.
    form.say(problem)
    this.listFiles.now()
  }

  private async showFiles(): Promise<void> {
    const { form, files, field } = this
    if (files.size === 0 && form.attached.hidden) return
    const { listFiles } = await import('./attachments.ts')
    const remove = ({ path, link }: Attached) => {
      files.delete(path)
      field.remove(link)
      this.listFiles.now()
      this.show.now()
      form.tell(`${path.replace('files/', '')} is removed.`)
      field.focus()
    }
    listFiles(form.attached, files.values(), { text: field.text(), remove })
  }

  private async send(act: string): Promise<void> {
    const { form } = this
    if (this.isSending || !form.element.reportValidity()) return
    this.isSending = true
    form.sending(true)
    this.keep.now()
    try {
      await this.panelReady
      const edit = { ...this.written(), fields: this.panel?.fields() }
      const question = act === 'create' ? await this.askAboutTwins(edit) : undefined
      if (question) {
        form.sending(false)
        form.say(question)
        this.isSending = false
        return
      }
      const to = await this.perform(act, edit)
      this.isSent = true
      this.drafts.remove()
      await Promise.race([this.stored?.remove(), new Promise((resolve) => setTimeout(resolve, pauses.leave))])
      // `isSending` stays true until the next page is there, so a second click cannot send again.
      location.assign(to)
    } catch (error) {
      form.sending(false)
      if (error instanceof Conflict && error.code === 'head_moved') await this.compare()
      else form.say(reportOf(error, root))
      this.isSending = false
    }
  }

  private askAboutTwins({ title }: Edit): Promise<Node | undefined> {
    return twinQuestion(api, { org, node: this.form.node }, title, () => void this.send('another'))
  }

  /** Saves the edit and returns the URL of the next page. */
  private async perform(act: string, edit: Edit): Promise<string> {
    const { form, source } = this
    const path = { org_id: org, node_id: form.node }
    const page = pathOf(form.node, edit.title)
    if (act === 'create' || act === 'another') {
      await createNode(api, org, { id: form.node, ...form.place(), ...edit })
      return page
    }
    const { head } = source
    const setPage = (number: number) => `${pathOf()}/proposals/${number}#page-${form.node}`
    if (act === 'create-proposal') {
      const node = await newItem(api, org, { id: form.node, parent: form.place().parent, ...edit })
      return setPage(await proposeNew(api, org, form.into(node.message) ?? newSet(node.message), node))
    }
    const into = act === 'propose' && form.into(messageOf(edit))
    if (into && head !== null)
      return setPage(
        await proposePages(api, org, into, { nodes: [await editItem(api, path, { ...source, head }, edit)] }),
      )
    if (act === 'propose' && head !== null)
      return `${pathOf(form.node, source.title)}/proposals/${await proposeEdit(api, path, { ...source, head, slug: form.slug, branches: form.branches }, edit)}`
    await saveEdit(api, path, source, edit, form.branch).catch((error: unknown) => {
      if (!(error instanceof Conflict) || error.code !== 'no_changes') throw error
    })
    if (form.next !== undefined) return form.next
    const isRenamed = head !== null && edit.title !== source.title
    return isRenamed ? `${page}/rename?from=${encodeURIComponent(source.title)}` : page
  }

  /** Shows both sides after a conflict. The server renders them in its answer to the plain form. */
  private async compare(): Promise<void> {
    const { form } = this
    try {
      const other = await form.compared(this.written())
      this.source = other.source()
      this.field.setText(other.text.value)
      form.takeOver(other)
      this.panel?.takeOver(other.element)
      this.keep.now()
    } catch (error) {
      form.say(reportOf(error, root))
    }
  }
}

/** Debounces `run`: runs it once, `ms` after the last call of `soon`. */
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

/** Returns the message for an error while saving. */
function reportOf(error: unknown, root: string): string | Node {
  if (error instanceof EntryError) return `${error.message} Your text is still here.`
  if (!(error instanceof GroveError)) return `${error instanceof Error ? error.message : error}. Nothing is saved yet.`
  const { status, message } = error
  if (status === 401) return signIn(root)
  if (status === 0) return 'The service does not respond. Your text is still here. Save again in a moment.'
  if (status === 413) return `${asSentence(message)} Your text is still here.`
  if (status === 429 || status === 503)
    return `Not saved yet. ${asSentence(message)} Your text is still here. Save again in a moment.`
  if (error instanceof Invalid) {
    const { field, says } = brokenField(error.fields)
    return `${field === 'title' ? 'Title: ' : ''}${says} Your text is still here.`
  }
  return `${asSentence(message)} Your text is still here.`
}

function signIn(root: string): Node {
  const said = document.createDocumentFragment()
  const link = document.createElement('a')
  Object.assign(link, { href: `${root}/sign-in`, target: '_blank', textContent: 'Sign in from another tab' })
  said.append('Your session has ended. ', link, ', then save again. Your text is still here.')
  return said
}
