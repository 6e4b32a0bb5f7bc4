import { render } from 'preact'
import { App } from './app'
import { applyTheme } from './theme'
import './style/base.css'
import './style/parts.css'
import './style/views.css'

applyTheme()
const place = document.getElementById('app')
if (place) render(<App />, place)
